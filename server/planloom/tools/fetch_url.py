"""The tool `fetch_url`: passes an address to the step's `Fetcher`, and shows the page in pieces, as fenced data."""

from __future__ import annotations

from typing import Final, Protocol

from planloom.domain.model_text.fences import fenced
from planloom.tools.catalog import FetchUrl
from planloom.tools.context import ToolContext
from planloom.tools.terminal_text import plain
from planloom.tools.tool import ToolResult, failed, shortened, succeeded
from planloom.web.addresses import WebAddress, web_address
from planloom.web.pages import Fetched, NotFetched, Page, Picture, Redirected

PIECE: Final = 20_000
"""The most characters of a page in one result."""
_SHOWN: Final = 200


class Fetcher(Protocol):
    """Asks for approval of an address, and fetches it."""

    async def fetch(self, address: WebAddress, *, again: bool) -> Fetched:
        """Ask for approval and get the page. With `again` a page that is still at hand may be returned without that.

        Raises if it is not allowed.
        """
        ...


async def fetch_url(args: FetchUrl, context: ToolContext) -> ToolResult:
    """Get the text of a page after a person or the policy has allowed it."""
    if context.pages is None:
        return failed("Nothing can be fetched here.")
    address = web_address(args.url)
    assert isinstance(address, WebAddress), "the arguments are validated"
    found = await context.pages.fetch(address, again=args.start > 0)
    match found:
        case Page():
            return _piece(address, found, args.start)
        case Redirected():
            return failed(
                f"{_name(address)} redirects to another address, which was not fetched: {found.location}\n"
                "If you need it, call fetch_url with that address."
            )
        case Picture():
            return failed(
                f"{_name(address)} is an image, and this tool shows text alone. An image is shown beside the"
                " request that names its address."
            )
        case NotFetched():
            result = failed(f"{_name(address)} was not fetched: {found.reason}")
            said = f"\nDATA what the host wrote\n{fenced(plain(found.text))}" if found.text else ""
            return result._replace(text=result.text + said)


def _piece(address: WebAddress, page: Page, start: int) -> ToolResult:
    """The piece of the page from `start`, which ends at a line if one ends in its second half."""
    whole = page.text
    if start and start >= len(whole):
        return failed(f"The page has only {len(whole)} characters. Give a smaller start.")
    end = min(start + PIECE, len(whole))
    if end < len(whole):
        line = whole.rfind("\n", start + PIECE // 2, end)
        end = line + 1 if line > 0 else end
    facts = [page.media_type] if page.media_type.isascii() and page.media_type.isprintable() else []
    if start or end < len(whole):
        facts.append(f"characters {start} to {end} of {len(whole)}")
    if page.cut:
        facts.append(page.cut)
    title = f"{page.title}\n\n" if page.title and not start else ""
    shown = plain(title + whole[start:end])
    body = fenced(shown) if shown.strip() else "(no text)"
    text = f"DATA {page.address.url} ({', '.join(facts)})\n{body}"
    if end < len(whole):
        text += f"\nFor the rest call fetch_url with start={end}."
    return succeeded(f"Fetched {_name(address)}: {end - start:,} characters", text, plain(whole[start:end]))


def _name(address: WebAddress) -> str:
    return shortened(address.url, _SHOWN)
