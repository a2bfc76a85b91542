"""Parses web addresses strictly, and judges whether a host is public, internal, or never used."""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv6Address
from typing import Final, Literal, NamedTuple
from urllib.parse import quote, urljoin, urlsplit

from planloom.domain.patterns import pattern

DEFAULT_PORTS: Final = {"http": 80, "https": 443}
METADATA_HOSTS: Final = frozenset({"metadata.google.internal", "metadata.goog", "metadata"})
"""Hosts that serve cloud credentials."""
MOST_CHARACTERS: Final = 2_000
"""The longest address, so that a person can read the whole of it before it is used."""

Reach = Literal["public", "internal", "forbidden"]
"""`internal` is this machine or a private network; `forbidden` serves cloud credentials or is no single host."""

METADATA_ADDRESSES: Final = frozenset(
    map(
        ipaddress.ip_address,
        ("168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"),
    )
)
"""Addresses of such hosts that are in no range of `_FORBIDDEN`."""
_FORBIDDEN: Final = tuple(
    map(ipaddress.ip_network, ("169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "fe80::/10", "ff00::/8"))
)
_INTERNAL_4: Final = tuple(
    map(
        ipaddress.IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.0.0.0/24"),
            *("192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24"),
            "203.0.113.0/24",
        ),
    )
)
"""The IANA registry of special addresses, whatever Python's own copy of it holds."""
_GLOBAL_6: Final = ipaddress.IPv6Network("2000::/3")
_SPECIAL_6: Final = tuple(
    map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"))
)
_ENDS_IN_IPV4: Final = tuple(
    map(
        ipaddress.IPv6Network,
        ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48"),
    )
)
"""Compatible, mapped and translated addresses (RFC 4291, RFC 2765, RFC 6052, RFC 8215)."""

_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME: Final = pattern(rf"(?=.{{1,253}}\Z)(?:{_LABEL}\.)*{_LABEL}")
_NUMBER: Final = pattern(r"[0-9]+|0x[0-9a-f]*")
"""A last label that makes browsers read a host as an IPv4 address."""
_KEPT: Final = "/%:@!$&'()*+,;=~-._?"


class WebAddress(NamedTuple):
    """An http or https address as it is used: only ASCII, with a canonical host, and without a fragment.

    `unicode_host` is the host in its own letters, if it was written in others than ASCII. `target` is path and query.
    """

    scheme: Literal["http", "https"]
    host: str
    port: int
    target: str
    unicode_host: str | None = None

    @property
    def origin(self) -> str:
        """Scheme, host and port; the port is left out if it is the scheme's own."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{name}" + ("" if self.has_usual_port else f":{self.port}")

    @property
    def url(self) -> str:
        """The whole address."""
        return self.origin + self.target

    @property
    def has_usual_port(self) -> bool:
        """Whether the port is the scheme's own."""
        return self.port == DEFAULT_PORTS[self.scheme]


class AddressRefused(NamedTuple):
    """An address that cannot be used; `reason` says why, as the end of a sentence about it."""

    reason: str


def web_address(text: str) -> WebAddress | AddressRefused:
    """Parse an absolute address. Whatever two parsers could read differently is refused."""
    text = text.strip(" ")
    if len(text) > MOST_CHARACTERS:
        return AddressRefused(reason=f"it is longer than {MOST_CHARACTERS} characters")
    # Spaces, backslashes and control characters are refused, since parsers disagree about them.
    if any(char <= " " or char.isspace() or char in "\\\x7f" for char in text):
        return AddressRefused(
            reason="it contains a space, a backslash or a control character: percent-encode it"
        )
    try:
        parts = urlsplit(text)
        port = parts.port
        written = parts.hostname or ""
    except ValueError:
        return AddressRefused(reason="it is no valid address")
    scheme = parts.scheme.lower()
    if scheme not in DEFAULT_PORTS or not written or not text.lower().startswith(f"{scheme}://"):
        return AddressRefused(reason="it must begin with https:// or http:// and a host")
    if "@" in parts.netloc:
        return AddressRefused(reason="it must not contain a user name, password or key")
    if port == 0:
        return AddressRefused(reason="it has no usable port")
    host = _canonical_host(written, bracketed="[" in parts.netloc)
    if isinstance(host, AddressRefused):
        return host
    try:
        target = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_KEPT)
    except UnicodeError:
        return AddressRefused(reason="it is no valid text")
    if len(target) > MOST_CHARACTERS:
        return AddressRefused(reason=f"it is longer than {MOST_CHARACTERS} characters when percent-encoded")
    return WebAddress(
        scheme="https" if scheme == "https" else "http",
        host=host,
        port=port or DEFAULT_PORTS[scheme],
        target=target,
        unicode_host=_unicode(host) if "xn--" in host else None,
    )


def joined(base: WebAddress, location: str) -> WebAddress | AddressRefused:
    """The address that a redirect leads to."""
    try:
        return web_address(urljoin(base.url, location))
    except ValueError:
        return AddressRefused(reason="it is no valid address")


def reach_of_host(host: str) -> Reach | None:
    """How far away a host is, judged by what is written; None for a name that has to be resolved first."""
    if host in METADATA_HOSTS:
        return "forbidden"
    if host == "localhost" or host.endswith(".localhost"):
        return "internal"
    address = numeric(host)
    return None if address is None else reach_of(address)


def reach_of(address: IPv4Address | IPv6Address) -> Reach:
    """How far away an address is. An IPv6 address that carries an IPv4 address is judged as that one."""
    if isinstance(address, IPv6Address):
        carried = _carried(address)
        if carried is not None:
            return reach_of(carried)
    if address in METADATA_ADDRESSES or any(address in network for network in _FORBIDDEN):
        return "forbidden"
    if isinstance(address, IPv4Address):
        return "internal" if any(address in network for network in _INTERNAL_4) else "public"
    special = any(address in network for network in _SPECIAL_6)
    return "public" if address in _GLOBAL_6 and not special else "internal"


def refusal(address: WebAddress, *, allow_internal: bool) -> str | None:
    """Why nothing is fetched from this host, judged by what is written alone; None if a person may be asked."""
    return refusal_of(reach_of_host(address.host), allow_internal=allow_internal)


def refusal_of(reach: Reach | None, *, allow_internal: bool) -> str | None:
    """Why nothing is fetched from so far away, as a sentence; None if it may be."""
    if reach == "forbidden":
        return "Its host has a link-local, multicast or cloud metadata address, which is never fetched."
    if reach == "internal" and not allow_internal:
        return (
            "Its host is this machine or in a private network, "
            "which only the setting planloom.fetch.allowInternal allows."
        )
    return None


def refused_address(scheme: str, host: str) -> str | None:
    """Why nothing of the user may be sent to this host or address, which a setting names; None if it may.

    Checked for the URL's host, and again for the address that a connection reached, since a name can resolve to
    anything. Link-local addresses serve cloud credentials; plain http is limited to private networks.
    """
    if host.rstrip(".").lower() in METADATA_HOSTS:
        return "that host serves cloud credentials"
    address = numeric(host)
    if address is None:
        return None
    carried = _carried(address) if isinstance(address, IPv6Address) else None
    for each in (address, carried or address):
        if each in METADATA_ADDRESSES:
            return "that address serves cloud credentials"
        if each.is_link_local or each.is_multicast:
            return "link-local and multicast addresses are never used"
        if scheme == "http" and each.is_global:
            return "plain http is only for this machine and private networks: use https"
    return None


def numeric(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a host is, without its zone, and IPv4 where it is only mapped to IPv6; None for a name."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that a compatible, mapped, translated (NAT64) or 6to4 address leads to."""
    if any(address in network for network in _ENDS_IN_IPV4):
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.sixtofour


def _canonical_host(written: str, *, bracketed: bool) -> str | AddressRefused:
    """The host in ASCII, in lower case and without the dot at its end."""
    if bracketed:
        try:
            return str(IPv6Address(written)) if "%" not in written else AddressRefused(reason="it has a zone")
        except ValueError:
            return AddressRefused(reason="its host is no IPv6 address")
    host = written.lower()
    if not host.isascii():
        import idna

        try:
            host = idna.encode(host, uts46=True).decode("ascii").lower()
        except (idna.IDNAError, UnicodeError):
            return AddressRefused(reason="its host is no valid name")
    host = host.removesuffix(".")
    if not _NAME.fullmatch(host):
        return AddressRefused(reason="its host is no valid name")
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        try:
            return str(IPv4Address(host))
        except ValueError:
            return AddressRefused(
                reason="its host is a number: write an IPv4 address as four decimal numbers, such as 192.0.2.1"
            )
    return host


def _unicode(host: str) -> str | None:
    """The host in its own letters; None if it has none or they are invalid."""
    import idna

    try:
        decoded: str = idna.decode(host)
    except (idna.IDNAError, UnicodeError):
        return None
    return None if decoded == host else decoded
