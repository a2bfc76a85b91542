"""The images that a request attaches go to a model that takes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planloom.domain.errors import InvalidParams, UntrustedWorkspace
from planloom.domain.events import catalog as ev
from planloom.intake.reference_sources import Requested
from planloom.models.offline.scripted import ALL, ScriptedModel, makes, says
from planloom.models.port import Image
from planloom.service.requests import Attached, CreateRequest
from tests.support.studio import studio

PICTURE = b"\x89PNG\r\n\x1a\n and more"
SENT = (Image(media_type="image/png", data=PICTURE),)


def kept_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob(".planloom/*"))


@pytest.mark.parametrize("tools", [True, False])
async def test_a_step_sends_the_attached_images_once_a_conversation(tmp_path: Path, tools: bool) -> None:
    can = ALL._replace(tools=tools, json_schema=True)
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
    can = ALL._replace(images=False)
    model = ScriptedModel([makes(("final_answer", {"text": "I cannot see it."}))], capabilities=can)
    async with studio(tmp_path, {"logo.png": PICTURE}, model=model) as at:
        await at.ask("What does @logo.png show?", mode="direct")
    (request,) = model.requests
    assert not any(message.images for message in request.messages)
    assert "this model takes no images; do not guess what it shows" in request.messages[1].text
    told = [each.event.message for each in at.events if isinstance(each.event, ev.Log)]
    assert told == ["The model takes no images, so it is shown the name alone of: logo.png."]


async def test_the_planner_sees_the_images_too(tmp_path: Path) -> None:
    model = ScriptedModel([], capabilities=ALL)
    async with studio(
        tmp_path, {"logo.png": PICTURE}, model=model, settings={"planning.perspectives": "never"}
    ) as at:
        await at.ask("Build a page that looks like @logo.png, and describe it in notes.md", mode="plan")
    assert model.requests[0].messages[1].images == SENT


async def test_a_person_is_told_that_the_model_takes_no_images(tmp_path: Path) -> None:
    model = ScriptedModel([], capabilities=ALL._replace(images=False))
    async with studio(
        tmp_path, {"logo.png": PICTURE}, model=model, settings={"planning.perspectives": "never"}
    ) as at:
        await at.ask("Build a page that looks like @logo.png, and describe it in notes.md", mode="plan")
        told = [each.event.message for each in at.events if isinstance(each.event, ev.Log)]
    assert "The model takes no images, so it is shown the name alone of: logo.png." in told


async def test_a_pasted_image_is_kept_once_and_goes_to_the_model(tmp_path: Path) -> None:
    model = ScriptedModel([makes(("final_answer", {"text": "A red square."}))], capabilities=ALL)
    async with studio(tmp_path, model=model) as at:
        uri = await at.app.references.keep_image(PICTURE)
        assert uri == await at.app.references.keep_image(PICTURE)
        created = await at.app.plans.create(
            CreateRequest(
                text="What is this?", mode="direct", attachments=(Requested(uri=uri, label="Pasted"),)
            )
        )
        await at.until(created.plan, lambda now: now.status == "completed")
    assert [message.images for message in model.requests[0].messages if message.images] == [SENT]
    assert kept_files(tmp_path) == [".gitignore", uri.rpartition("/")[2]]


async def test_only_an_image_of_a_trusted_folder_is_kept(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        for wrong in (b"#!/bin/sh\n", b"", PICTURE + bytes(5_000_000)):
            with pytest.raises(InvalidParams):
                await at.app.references.keep_image(wrong)
        at.app.set_trusted(False)
        with pytest.raises(UntrustedWorkspace):
            await at.app.references.keep_image(PICTURE)
    assert kept_files(tmp_path) == []


async def test_an_image_said_to_a_plan_under_review_goes_to_its_planner(tmp_path: Path) -> None:
    steps = {"steps": [{"id": "a", "description": "Draw it", "instruction": "Draw it", "dependsOn": []}]}
    model = ScriptedModel([says(json.dumps(steps)), says(json.dumps(steps))], capabilities=ALL)
    async with studio(
        tmp_path, {"logo.png": PICTURE}, model=model, settings={"planning.perspectives": "never"}
    ) as at:
        plan = await at.ask("Build a page and describe it in notes.md", mode="plan")
        uri = await at.app.references.keep_image(PICTURE)
        said = Attached(attachments=(Requested(uri=uri, label="Pasted"),))
        sent = await at.app.messages.send(
            plan.plan_id, "It should look like this, like @logo.png and like @gone.png", said
        )
        assert [each.reference for each in sent.unresolved] == ["@gone.png"]
        after = await at.until(plan, lambda now: now.version == 2 and now.status == "pending_approval")
    assert [each.attachment_id for each in after.attachments] == ["attachment_1", "attachment_2"]
    images = [image for message in model.requests[-1].messages for image in message.images]
    assert images == [*SENT, *SENT]


async def test_an_image_that_no_step_has_seen_goes_to_the_plan_that_continues(tmp_path: Path) -> None:
    async with studio(tmp_path) as at:
        plan = await at.approve(await at.ask("1. Create folder one\n2. Create folder two", mode="plan"))
        answer = makes(("final_answer", {"text": "A red square."}))
        at.model.model = model = ScriptedModel([answer], capabilities=ALL)
        uri = await at.app.references.keep_image(PICTURE)
        said = Attached(attachments=(Requested(uri=uri, label="Pasted"),))
        sent = await at.app.messages.send(plan.plan_id, "What is this?", said)
        assert sent.outcome == "queued"
        while plan.pending.approvals:
            plan = await at.respond(plan)

        def starts() -> list[ev.Recorded]:
            return [each for each in at.events if isinstance(each.event, ev.PlanStart)]

        await at.until(plan, lambda _: len(starts()) == 2)
        follow = at.app.plans.get(starts()[-1].plan_id, None)
        assert follow is not None and follow.follows == plan.plan_id
        await at.reach(follow, "ended")
    assert [message.images for message in model.requests[0].messages if message.images] == [SENT]


@pytest.mark.parametrize("images", [True, False])
async def test_every_perspective_sees_the_images_or_is_told_that_they_are_missing(
    tmp_path: Path, images: bool
) -> None:
    model = ScriptedModel([], capabilities=ALL._replace(images=images))
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
