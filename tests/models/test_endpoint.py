"""Addresses of model servers: one spelling per origin, and refused addresses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.errors import ModelFailed
from planloom.models.http.endpoint import endpoint_of, origin_of
from planloom.web.addresses import refused_address


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://localhost:1234/v1", "http://localhost:1234/v1"),
        ("http://localhost:1234/v1/", "http://localhost:1234/v1"),
        ("http://localhost:1234", "http://localhost:1234/v1"),
        ("localhost", "http://localhost/v1"),
        ("gpu:8000", "http://gpu:8000/v1"),
        ("models.example", "http://models.example/v1"),
        ("localhost:1234", "http://localhost:1234/v1"),
        (" https://API.OpenAI.com:443/v1/chat/completions ", "https://api.openai.com/v1"),
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1"),
        ("http://[::1]:8080", "http://[::1]:8080/v1"),
        ("http://192.168.1.5:8000", "http://192.168.1.5:8000/v1"),
        ("http://0.0.0.0:8000", "http://0.0.0.0:8000/v1"),
    ],
)
def test_a_base_url_is_read(url: str, base: str) -> None:
    assert endpoint_of(url, default_path="/v1").base == base


@pytest.mark.parametrize(
    "url",
    [
        "",
        "foo",
        "foo/v1",
        "file:///etc/passwd",
        "ftp://host/x",
        "http://",
        "http://user:secret-key-123@host/v1",
        "http://host:99999/v1",
        "http://[::1/v1",
        "https://host/v1?key=1",
        "https://host/v1#x",
        "https://ho st/v1",
        "https://host\\@other/v1",
        "http://169.254.169.254/latest",
        "https://169.254.169.254/latest",
        "http://[fe80::1]/v1",
        "http://[::ffff:169.254.169.254]/v1",
        "http://metadata.google.internal/v1",
        "http://8.8.8.8/v1",
        "http://[2001:4860:4860::8888]/v1",
        "https://[64:ff9b::a9fe:a9fe]/v1",
        "https://[64:ff9b:1::a9fe:a9fe]/v1",
        "https://[2002:a9fe:a9fe::]/v1",
        "https://[::169.254.169.254]/v1",
        "https://[::ffff:0:169.254.169.254]/v1",
        "https://[fd20:ce::254]/v1",
        "http://[64:ff9b::808:808]/v1",
        "https://0xA9FEA9FE/v1",
        "https://2852039166/v1",
        "https://0251.0376.0251.0376/v1",
        "https://169.16689662/v1",
        "https://①⑥⑨.254.169.254/v1",
        "https://169。254。169。254/v1",
        "https://metadata.google.internal./v1",
        "https://host..example/v1",
        "https://host%2f@x/v1",
    ],
)
def test_addresses_that_no_model_can_have_are_refused(url: str) -> None:
    with pytest.raises(ModelFailed) as caught:
        endpoint_of(url)
    assert "model.baseUrl" in (caught.value.hint or "")
    assert "secret-key" not in caught.value.message


@pytest.mark.parametrize(
    ("scheme", "address", "allowed"),
    [
        ("http", "127.0.0.1", True),
        ("http", "10.1.2.3", True),
        ("http", "100.64.1.1", True),
        ("http", "fd00::1", True),
        ("http", "93.184.216.34", False),
        ("https", "93.184.216.34", True),
        ("https", "169.254.1.1", False),
        ("https", "::ffff:169.254.1.1", False),
        ("https", "fe80::1%eth0", False),
        ("https", "224.0.0.1", False),
        ("https", "64:ff9b::a9fe:a9fe", False),
        ("https", "2002:a9fe:a9fe::1", False),
        ("http", "64:ff9b::808:808", False),
    ],
)
def test_the_address_that_a_connection_reached_is_checked(scheme: str, address: str, allowed: bool) -> None:
    assert (refused_address(scheme, address) is None) is allowed


@given(st.text(max_size=60))
def test_any_text_is_an_endpoint_or_refused(text: str) -> None:
    for url in (text, f"http://{text}", f"https://host{text}"):
        try:
            endpoint = endpoint_of(url)
        except ModelFailed:
            continue
        assert origin_of(endpoint.origin) == endpoint.origin
