"""HTML as a model reads it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.web.html_text import html_text

PAGE = """<!DOCTYPE html><html><head><title>The
 title</title><style>p{}</style><script>evil("<p>")</script></head>
<body><nav><a href="#top">Top</a></nav>
<h1>Regular   expressions</h1><p>Use <code>re.sub</code> and <a href="/howto">the <b>how-to</b></a>.
<br>Second line &amp; more</p>
<ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul><ol><li>first<li>second</ol>
<pre><code class="language-python">def f():
    return "```" &lt; 1
</code></pre>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<img src="x.png" alt="A picture"><template>no</template><svg><text>no</text></svg><p>end"""


def test_a_page_becomes_text_with_markdown_marks() -> None:
    title, text = html_text(PAGE)
    assert title == "The title"
    assert (
        text
        == """\
Top

# Regular expressions

Use `re.sub` and [the how-to](/howto).
Second line & more

- one
  - inner
- two

1. first
2. second

````python
def f():
    return "```" < 1
````

a | b
1 | 2

[image: A picture]

end"""
    )


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("a</p></p></ul></a></pre>b", "a\n\nb"),
        ("<script>x", ""),
        ("<script>x</style></script>y", "y"),
        ("<svg><title>t</title></svg>y", "y"),
        ("<svg><svg></svg>n</svg>y", "y"),
        ('<p>a<svg class="icon"/>b<svg><svg/>n</svg>y<math/>!', "aby!"),
        ("a<canvas/>n", "a"),
        ("<head><title>t</title><body>y", "y"),
        ("a<!-- <p>no -->b<!---->c<!-- no", "abc"),
        ("1 < 2 <3 <!x> <?y?> </ >", "1 < 2 <3"),
        ("<a href=x>one<a href='y>'>two</a> <p class", "[one](x)[two](y>)"),
        ("<A HREF=x/>y</A >", "[y](x/)"),
        ("&#99999999999999999999;&#" + "9" * 5_000, "\ufffd\ufffd"),
        ("<a href='javascript:x'>go</a>", "go"),
        ("<pre>a\n  b<br>c", "```\na\n  b\nc\n```"),
        ("&#x202e;&nosuch;", "\u202e&nosuch;"),
        ("", ""),
    ],
)
def test_broken_html_still_gives_its_text(html: str, text: str) -> None:
    assert html_text(html)[1] == text


@pytest.mark.parametrize(
    "piece",
    [
        "<",
        "<!--",
        "<a href='",
        '<a href="x',
        "<p",
        "<div>",
        "<svg>",
        "</svg>",
        "<ul><li>",
        "<a href=x>y",
        "<pre>",
        "</a>",
        "<script>",
        "</script",
        "<!",
        "<?",
        "&#",
        "&amp",
        "`",
        " ",
        "\n",
        "<td>",
        "<p a=b c",
    ],
)
def test_a_page_built_to_be_slow_takes_linear_time(piece: str) -> None:
    """A quadratic reader takes minutes for a page of this size."""
    began = time.process_time()
    html_text(piece * (400_000 // len(piece)))
    assert time.process_time() - began < 8


@given(st.text(alphabet="<>/!-&;='\"aplitrhescodu1 \n", max_size=80))
def test_no_text_raises(html: str) -> None:
    html_text(html)
