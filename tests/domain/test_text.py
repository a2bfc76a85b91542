import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planloom.domain.text.positions import (
    ContentChange,
    Decoded,
    Encoding,
    LineIndex,
    Position,
    Range,
    TextEdit,
    Undecodable,
    adapt_eol,
    apply_change,
    apply_edits,
    decode,
    dominant_eol,
    encode,
    with_eol,
)
from tests.depth import rounds
from tests.domain.reference import ATOMS, ENCODINGS, Client, some_range, some_text

texts = st.lists(st.sampled_from(ATOMS), max_size=20).map("".join)
encodings = st.sampled_from(ENCODINGS)


def at(line: int, character: int) -> Position:
    return Position(line=line, character=character)


def span(start: Position, end: Position) -> Range:
    return Range(start=start, end=end)


def check_index(text: str, encoding: Encoding) -> None:
    index = LineIndex(text)
    client = Client(text, encoding)
    lines = client.lines()
    assert index.line_count == len(lines)
    for position in client.positions():
        offset = index.offset(position, encoding)
        assert len(Client(text[:offset], encoding).units) == client.place(position)
        assert index.position(offset, encoding) == position


@given(texts, encodings)
def test_positions_and_offsets_agree_with_a_client(text: str, encoding: Encoding) -> None:
    check_index(text, encoding)


@given(texts, encodings, st.integers(-1, 30), st.integers(-1, 30))
def test_a_position_that_does_not_exist_is_the_nearest_before_it(
    text: str, encoding: Encoding, line: int, character: int
) -> None:
    offset = LineIndex(text).offset(at(line, character), encoding)
    place = 0 if line < 0 else Client(text, encoding).place(at(line, max(character, 0)))
    assert len(Client(text[:offset], encoding).units) == place


@given(texts, encodings)
def test_an_offset_inside_a_line_end_is_before_it(text: str, encoding: Encoding) -> None:
    index = LineIndex(text)
    for offset in range(-1, len(text) + 2):
        inside = text[max(offset - 1, 0) : max(offset, 0) + 1] == "\r\n"
        nearest = min(max(offset, 0), len(text)) - inside
        assert index.offset(index.position(offset, encoding), encoding) == nearest


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("filler", ["x", "é", "😀", "\n", "\r\n", "\r", "ab\r\n"])
@pytest.mark.parametrize("shift", range(3))
def test_long_texts_are_indexed_like_short_ones(encoding: Encoding, filler: str, shift: int) -> None:
    text = "a" * shift + filler * (9000 // len(filler)) + "z😀z\r\nend"
    index, client = LineIndex(text), Client(text, encoding)
    lines = client.lines()
    assert index.line_count == len(lines)
    for line in {0, 1, len(lines) // 2, len(lines) - 2, len(lines) - 1}:
        start, end = lines[line]
        for character in {0, 1, (end - start) // 2, end - start}:
            offset = index.offset(at(line, character), encoding)
            place = client.place(at(line, character))
            assert len(Client(text[:offset], encoding).units) == place
            assert index.position(offset, encoding) == at(line, place - start)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("\n", ["", ""]),
        ("a", ["a"]),
        ("a\nb\r\nc\rd", ["a", "b", "c", "d"]),
        ("a\r\r\n\nb", ["a", "", "", "b"]),
        ("form\ffeed\u2028and\x85others\v\n", ["form\ffeed\u2028and\x85others\v", ""]),
    ],
)
def test_lines_end_only_where_editors_end_them(text: str, lines: list[str]) -> None:
    index = LineIndex(text)
    assert [index.line_text(line) for line in range(index.line_count)] == lines
    assert index.line_text(len(lines)) == ""
    assert index.line_start(len(lines)) == len(text)


def test_insertions_at_one_place_keep_their_order_and_precede_a_replacement() -> None:
    here = span(at(0, 1), at(0, 1))
    edits = [
        TextEdit(range=span(at(0, 1), at(0, 2)), new_text="B"),
        TextEdit(range=here, new_text="1"),
        TextEdit(range=here, new_text="2"),
    ]
    assert apply_edits("abc", edits, "utf-16") == "a12Bc"


def test_a_backward_range_is_read_forward() -> None:
    assert apply_edits("abc", [TextEdit(range=span(at(0, 2), at(0, 1)), new_text="-")], "utf-8") == "a-c"


def test_overlapping_edits_are_refused() -> None:
    edits = [
        TextEdit(range=span(at(0, 0), at(0, 2)), new_text=""),
        TextEdit(range=span(at(0, 1), at(0, 3)), new_text=""),
    ]
    with pytest.raises(ValueError, match="overlap"):
        apply_edits("abc", edits, "utf-16")


@given(texts, encodings, st.randoms(use_true_random=False))
def test_edits_of_one_state_agree_with_a_client(text: str, encoding: Encoding, chance: random.Random) -> None:
    client = Client(text, encoding)
    positions = client.positions()
    places = sorted(chance.choices(range(len(positions)), k=2 * chance.randint(0, 4)))
    edits = [
        TextEdit(range=span(positions[start], positions[end]), new_text=some_text(chance, 3))
        for start, end in zip(places[::2], places[1::2], strict=True)
    ]
    client.apply(edits)
    assert apply_edits(text, edits, encoding) == client.text


def check_typing(seed: int, encoding: Encoding, changes: int) -> None:
    """A client types, and the copy made from what it tells stays equal to its buffer."""
    chance = random.Random(seed)
    copy = some_text(chance)
    client = Client(copy, encoding)
    for _ in range(changes):
        edit = TextEdit(range=some_range(client, chance), new_text=some_text(chance, 6))
        client.apply([edit])
        copy = apply_change(copy, ContentChange(range=edit.range, text=edit.new_text), encoding)
        assert copy == client.text


@pytest.mark.deep
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_copy_kept_from_changes_stays_equal(encoding: Encoding) -> None:
    for seed in range(rounds(30, 200)):
        check_typing(seed, encoding, changes=50)


def test_a_change_without_a_range_is_the_whole_text() -> None:
    assert apply_change("old", ContentChange(text="new"), "utf-16") == "new"


def test_halves_of_a_character_that_meet_are_that_character() -> None:
    typed = apply_change("a\ud83d", ContentChange(range=span(at(0, 2), at(0, 2)), text="\ude00b"), "utf-16")
    assert typed == "a😀b"


def test_lone_halves_are_counted_and_kept() -> None:
    text = "a\ud83db\n"
    assert LineIndex(text).offset(at(0, 2), "utf-16") == 2
    assert (
        apply_change(text, ContentChange(range=span(at(0, 2), at(0, 3)), text="c"), "utf-16") == "a\ud83dc\n"
    )


@pytest.mark.parametrize(
    ("text", "eol"),
    [
        ("", None),
        ("a", None),
        ("a\n", "\n"),
        ("a\r\nb\r\nc\n", "\r\n"),
        ("a\rb\rc\n", "\r"),
        ("a\r\nb\n", "\n"),
        ("a\u2028b", None),
    ],
)
def test_the_dominant_line_end(text: str, eol: str | None) -> None:
    assert dominant_eol(text) == eol


def test_with_eol_replaces_every_line_end() -> None:
    assert with_eol("a\rb\nc\r\nd\u2028e", "\r\n") == "a\r\nb\r\nc\r\nd\u2028e"
    assert with_eol("a\rb\nc\r\n", "\r") == "a\rb\rc\r"


@pytest.mark.parametrize(
    ("new", "before", "adapted"),
    [
        pytest.param("a\nb\n", "", "a\nb\n", id="nothing to go by"),
        pytest.param("a\nB\n", "a\r\nb\r\n", "a\r\nB\r\n", id="one kind"),
        pytest.param("a\r\nB\r\n", "a\nb\n", "a\nB\n", id="the other way"),
        pytest.param("a\nx\nc\n", "a\nb\r\nc\n", "a\nx\r\nc\n", id="a rewritten line keeps its own"),
        pytest.param("a\nb\nx\nc\n", "a\nb\r\nc\n", "a\nb\r\nx\r\nc\n", id="a new line: of the line above"),
        pytest.param(
            "a\nb\nx\ny\nc\n", "a\nb\r\nc\n", "a\nb\r\nx\ny\nc\n", id="a new block: the most frequent"
        ),
        pytest.param("a\nd\n", "a\nb\r\nc\r\nd\n", "a\nd\n", id="lines taken out"),
        pytest.param("x\nd\n", "a\r\nb\nc\nd\n", "x\r\nd\n", id="several lines made one"),
        pytest.param("a\nb\nc", "a\r\nb\nc\n", "a\r\nb\nc", id="no end where the new text has none"),
        pytest.param("a\nb\nc\n", "a\nb\r\nc", "a\nb\r\nc\r\n", id="an end for a line that had none"),
        pytest.param("\n\n", "\ra\n", "\r\r", id="two ends never become one"),
    ],
)
def test_new_text_takes_the_line_ends_of_what_it_replaces(new: str, before: str, adapted: str) -> None:
    assert adapt_eol(new, before) == adapted


@given(texts, texts)
def test_adapting_changes_line_ends_only(new: str, before: str) -> None:
    assert with_eol(adapt_eol(new, before), "\n") == with_eol(new, "\n")


@given(texts)
def test_a_text_whose_line_ends_were_lost_gets_its_own_back(before: str) -> None:
    assert adapt_eol(with_eol(before, "\n"), before) == before


@pytest.mark.parametrize(
    ("data", "decoded"),
    [
        (b"", Decoded(text="", encoding="utf-8", bom=False)),
        ("é\r\n".encode(), Decoded(text="é\r\n", encoding="utf-8", bom=False)),
        (b"\xef\xbb\xbfa", Decoded(text="a", encoding="utf-8", bom=True)),
        (b"\xef\xbb\xbf\xef\xbb\xbfa", Decoded(text="\ufeffa", encoding="utf-8", bom=True)),
        ("\ufeffé😀".encode("utf-16-le"), Decoded(text="é😀", encoding="utf-16-le", bom=True)),
        ("\ufeffé😀".encode("utf-16-be"), Decoded(text="é😀", encoding="utf-16-be", bom=True)),
    ],
)
def test_text_is_decoded_and_written_back_byte_for_byte(data: bytes, decoded: Decoded) -> None:
    assert decode(data) == decoded
    assert encode(decoded, decoded.text) == data


@pytest.mark.parametrize(
    ("data", "kind", "detail"),
    [
        pytest.param(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "binary", "NUL", id="PNG"),
        pytest.param(b"a\0b", "binary", "NUL", id="NUL in ASCII"),
        pytest.param("text".encode("utf-16-le"), "binary", "NUL", id="UTF-16 without a mark"),
        pytest.param(b"\xff\xfea\0\0\0", "binary", "NUL", id="NUL in UTF-16"),
        pytest.param(b"caf\xe9", "undecodable", "byte 0xE9 at offset 3 is not UTF-8", id="latin-1"),
        pytest.param(b"\xef\xbb\xbfab\xff", "undecodable", "byte 0xFF at offset 5", id="marked"),
        pytest.param(b"\xff\xfea", "undecodable", "offset 2 is not UTF-16-LE", id="odd UTF-16"),
        pytest.param(b"\xfe\xff\xd8\x00\0a", "undecodable", "UTF-16-BE", id="half a pair"),
        pytest.param("\ufeffa".encode("utf-32-le"), "undecodable", "UTF-32", id="UTF-32"),
    ],
)
def test_what_is_not_certainly_text_is_not_decoded(data: bytes, kind: str, detail: str) -> None:
    found = decode(data)
    assert isinstance(found, Undecodable)
    assert (found.kind, found.size) == (kind, len(data))
    assert detail in found.detail


@given(
    st.binary(max_size=60)
    | st.sampled_from([b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"]).flatmap(
        lambda mark: st.binary(max_size=40).map(lambda data: mark + data)
    )
)
def test_any_bytes_are_refused_or_come_back(data: bytes) -> None:
    found = decode(data)
    if found.kind == "decoded":
        assert encode(found, found.text) == data


def test_lone_surrogates_are_not_written_to_a_file() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        encode(Decoded(text="", encoding="utf-8", bom=False), "\ud83d")
