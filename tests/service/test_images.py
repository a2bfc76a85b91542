"""The images that a request attaches go to a model that takes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from planloom.models.offline.scripted import ALL, ScriptedModel, makes
from planloom.models.port import Image
from tests.support.studio import studio

PICTURE = b"\x89PNG\r\n\x1a\n and more"
SENT = (Image(media_type="image/png", data=PICTURE),)


@pytest.mark.parametrize("tools", [True, False])
async def test_a_step_sends_the_attached_images_once_a_conversation(tmp_path: Path, tools: bool) -> None:
    can = ALL.model_copy(update={"tools": tools, "json_schema": True})
    turns = [
        makes(("read_file", {"path": "a.txt"})),
        makes(("final_answer", {"text": "A red square."})),
    ]
    model = ScriptedModel(turns, capabilities=can)
    files = {"logo.png": PICTURE, "a.txt": "a\n"}
    async with studio(tmp_path, files, model=model) as at:
        plan = await at.ask("What does @logo.png show, and what is in a.txt?", mode="direct")
    assert plan.status == "completed"
    first, second = model.requests
    assert [message.images for message in first.messages] == [(), SENT]
    # A prompt that is written anew has the images each time, a conversation keeps them where they were.
    assert [message.images for message in second.messages if message.images] == [SENT]
    assert "The image is sent along." in first.messages[1].text
    assert not any("has changed since" in str(event) for event in at.events)


async def test_a_model_without_images_is_told_that_there_is_one(tmp_path: Path) -> None:
    can = ALL.model_copy(update={"images": False})
    model = ScriptedModel([makes(("final_answer", {"text": "I cannot see it."}))], capabilities=can)
    async with studio(tmp_path, {"logo.png": PICTURE}, model=model) as at:
        await at.ask("What does @logo.png show?", mode="direct")
    (request,) = model.requests
    assert not any(message.images for message in request.messages)
    assert "this model takes no images; do not guess what it shows" in request.messages[1].text


async def test_the_planner_sees_the_images_too(tmp_path: Path) -> None:
    model = ScriptedModel([], capabilities=ALL)
    async with studio(
        tmp_path, {"logo.png": PICTURE}, model=model, settings={"planning.perspectives": "never"}
    ) as at:
        await at.ask("Build a page that looks like @logo.png, and describe it in notes.md", mode="plan")
    assert model.requests[0].messages[1].images == SENT


@pytest.mark.parametrize("images", [True, False])
async def test_every_perspective_sees_the_images_or_is_told_that_they_are_missing(
    tmp_path: Path, images: bool
) -> None:
    model = ScriptedModel([], capabilities=ALL.model_copy(update={"images": images}))
    async with studio(tmp_path, {"logo.png": PICTURE}, model=model) as at:
        await at.ask(
            "Build a page that looks like @logo.png, and describe it in notes.md", mode="perspectives"
        )
    systems = {request.messages[0].text.partition(",")[0] for request in model.requests}
    assert len(systems) >= 4, "three perspectives and the synthesis"
    for request in model.requests:
        question = request.messages[1]
        assert question.images == (SENT if images else ())
        assert ("this model takes no images" in question.text) is not images
