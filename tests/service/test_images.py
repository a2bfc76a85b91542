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
from tests.support.http_server import Asked, Wire, serving
from tests.support.studio import Studio, studio

PICTURE = b"\x89PNG\r\n\x1a\n and more"
SEEN = makes(("final_answer", {"text": "A red square."}))
INSIDE = {"fetch.allowInternal": True}
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


async def pictures(asked: Asked, wire: Wire) -> None:
    """The host of linked images, good and bad ones."""
    match asked.path.partition("?")[0]:
        case "/p.jpeg":
            await wire.reply(200, PICTURE, content_type="image/jpeg")
        case "/gone.png":
            await wire.reply(404, PICTURE, content_type="image/png")
        case "/page.png":
            await wire.reply(200, b"<h1>Sign in</h1>", content_type="text/html")
        case "/drawn.png":
            await wire.reply(200, b"<svg/>", content_type="image/svg+xml")
        case "/large.png":
            await wire.reply(200, PICTURE + bytes(30_000_000), content_type="image/png")
        case _:
            await wire.reply(302, b"", location="https://elsewhere.example/p.png")


def warnings(at: Studio) -> list[str]:
    return [
        each.event.message
        for each in at.events
        if isinstance(each.event, ev.Log) and each.event.level == "warning"
    ]


def images_sent(model: ScriptedModel) -> list[tuple[Image, ...]]:
    return [message.images for request in model.requests for message in request.messages if message.images]


async def test_the_image_of_a_link_reaches_the_model_once_its_address_is_approved(tmp_path: Path) -> None:
    model = ScriptedModel([SEEN], capabilities=ALL)
    async with serving(pictures) as host, studio(tmp_path, model=model, settings=INSIDE) as at:
        plan = await at.ask(f"What does {host.origin}/p.jpeg show?", mode="direct")
        (approval,) = plan.pending.approvals
        assert (approval.effect, approval.url, host.asked) == ("fetch", f"{host.origin}/p.jpeg", [])
        plan = await at.respond(plan)
        assert (plan.status, warnings(at)) == ("completed", [])
    assert images_sent(model) == [SENT]
    assert "The image is sent along." in model.requests[0].messages[1].text


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gone", "The host answered 404 Not Found."),
        ("page", "The host sent a text, no PNG, JPEG, GIF, WebP or BMP."),
        ("drawn", "The host sent a text, no PNG, JPEG, GIF, WebP or BMP."),
        ("large", "It is an image of over 5 MB."),
        ("moved", "It redirects to another host, where nothing is fetched."),
    ],
)
async def test_person_and_model_read_why_a_linked_image_is_not_shown(
    name: str, reason: str, tmp_path: Path
) -> None:
    model = ScriptedModel([SEEN], capabilities=ALL)
    settings = {**INSIDE, "approvals.fetch": "allow"}
    async with serving(pictures) as host, studio(tmp_path, model=model, settings=settings) as at:
        plan = await at.ask(f"What does {host.origin}/{name}.png show?", mode="direct")
        assert plan.status == "completed"
        assert warnings(at) == [f"The model is not shown {host.origin}/{name}.png. {reason}"]
    assert images_sent(model) == []
    assert f"{reason}\nThe image itself is not sent." in model.requests[0].messages[1].text


async def test_a_denied_image_is_asked_once_for_a_plan(tmp_path: Path) -> None:
    steps = [{"id": name, "description": name, "instruction": name, "dependsOn": []} for name in "ab"]
    model = ScriptedModel([says(json.dumps({"steps": steps})), SEEN, SEEN], capabilities=ALL)
    settings = {**INSIDE, "planning.perspectives": "never", "context.shareConversation": False}
    async with serving(pictures) as host, studio(tmp_path, model=model, settings=settings) as at:
        plan = await at.ask(f"Build a page that looks like {host.origin}/p.jpeg", mode="plan")
        assert host.asked == [] and plan.pending.approvals == ()
        plan = await at.respond(await at.approve(plan), "deny")
        assert plan.pending.approvals == () and host.asked == []
        assert warnings(at) == [
            f"The model is not shown {host.origin}/p.jpeg. The user did not allow this fetch."
        ]
    assert len(model.requests) > 2 and images_sent(model) == []


async def test_no_more_than_four_linked_images_are_fetched(tmp_path: Path) -> None:
    model = ScriptedModel([SEEN], capabilities=ALL)
    settings = {**INSIDE, "approvals.fetch": "allow"}
    async with serving(pictures) as host, studio(tmp_path, model=model, settings=settings) as at:
        links = " ".join(f"{host.origin}/p.jpeg?{number}" for number in range(9))
        await at.ask(f"What do these show? {links}", mode="direct")
        assert len(host.asked) == 4 and len(warnings(at)) == 5
    assert images_sent(model)[0] == SENT * 4
