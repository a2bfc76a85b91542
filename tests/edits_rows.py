"""The sixty situations that an edit can meet, each with the tests that show what happens then.

python -m tests.edits_rows        prints them
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parent


class Row(NamedTuple):
    """A situation, and a test that shows what happens in it: its file below `tests`, its name."""

    situation: str
    file: str
    test: str


ROWS: Mapping[int, Row] = {
    1: Row(
        "characters outside the basic plane",
        "domain/test_diff.py",
        "test_ten_thousand_random_changes_are_applied_exactly",
    ),
    2: Row(
        "combining marks, joined emoji, flags",
        "domain/test_diff.py",
        "test_edits_are_the_smallest_in_whole_lines_or_within_them",
    ),
    3: Row(
        "positions in UTF-8 or UTF-32",
        "workspace/test_apply_more.py",
        "test_positions_are_in_the_negotiated_encoding",
    ),
    4: Row(
        "form feed, U+2028 and the like end no line",
        "domain/test_text.py",
        "test_lines_end_only_where_editors_end_them",
    ),
    5: Row(
        "a lone carriage return ends a line",
        "domain/test_text.py",
        "test_lines_end_only_where_editors_end_them",
    ),
    6: Row(
        "a CRLF file, new text with LF",
        "workspace/test_apply_more.py",
        "test_one_line_of_a_crlf_file_is_one_edit",
    ),
    7: Row(
        "mixed line ends",
        "workspace/test_apply_more.py",
        "test_line_ends_that_the_editor_made_uniform_are_no_conflict",
    ),
    8: Row("no final newline", "workspace/test_apply_more.py", "test_empty_files_and_final_newlines"),
    9: Row(
        "a byte-order mark", "workspace/test_apply_more.py", "test_a_byte_order_mark_is_kept_open_and_closed"
    ),
    10: Row("empty files", "workspace/test_apply_more.py", "test_empty_files_and_final_newlines"),
    11: Row("huge files", "domain/test_diff.py", "test_a_huge_text_with_one_change_is_one_small_edit"),
    12: Row("binary files", "workspace/test_view.py", "test_a_file_that_is_no_text_names_its_problem"),
    13: Row(
        "other encodings", "workspace/test_apply_more.py", "test_a_file_that_is_no_text_is_left_as_it_is"
    ),
    14: Row("old text that is not there", "tools/test_edit_file.py", "test_refuses_what_is_not_there_once"),
    15: Row("old text that is there twice", "tools/test_edit_file.py", "test_refuses_what_is_not_there_once"),
    16: Row(
        "old text that differs in form only",
        "tools/test_edit_file.py",
        "test_finds_what_differs_in_form_only",
    ),
    17: Row("empty old text", "tools/test_edit_file.py", "test_refuses_what_is_not_there_once"),
    18: Row(
        "content that is there already",
        "workspace/test_apply_more.py",
        "test_a_change_that_is_there_already_is_not_sent",
    ),
    19: Row(
        "content with a part left out",
        "tools/test_edit_file.py",
        "test_content_with_a_part_left_out_is_asked_and_reported",
    ),
    20: Row("content in a fence", "tools/test_edit_file.py", "test_the_one_fence_around_everything_goes"),
    21: Row(
        "several edits of one file in one call",
        "tools/test_patches.py",
        "test_a_patch_that_does_not_fit_stages_nothing",
    ),
    22: Row(
        "an unsaved buffer",
        "workspace/test_apply.py",
        "test_an_unsaved_buffer_is_edited_and_the_disk_left_alone",
    ),
    23: Row(
        "typing between reading and applying",
        "workspace/test_apply.py",
        "test_text_typed_while_the_edit_is_under_way_is_kept",
    ),
    24: Row(
        "a closed file changed on disk",
        "workspace/test_apply_more.py",
        "test_a_closed_file_that_changed_on_disk_is_merged",
    ),
    25: Row(
        "a file deleted meanwhile",
        "workspace/test_apply_more.py",
        "test_a_deleted_file_is_not_made_again_unasked",
    ),
    26: Row(
        "a file renamed meanwhile",
        "workspace/test_apply_more.py",
        "test_a_renamed_file_is_not_edited_under_its_new_name",
    ),
    27: Row(
        "a file opened or closed meanwhile",
        "workspace/test_apply_more.py",
        "test_a_file_opened_before_the_edit_arrives_is_compared_anew",
    ),
    28: Row(
        "two steps at one file",
        "workspace/test_apply_more.py",
        "test_steps_at_one_file_run_one_after_the_other",
    ),
    29: Row(
        "an old approval",
        "workspace/test_apply_more.py",
        "test_a_change_that_is_not_the_approved_one_any_more_is_not_made",
    ),
    30: Row(
        "a crash while the edit is under way",
        "service/test_crashes.py",
        "test_killed_at_every_event_each_effect_happens_once",
    ),
    31: Row(
        "a cancel while the edit is under way",
        "workspace/test_apply.py",
        "test_a_cancel_while_the_editor_works_waits_and_records",
    ),
    32: Row("dots in a path", "workspace/test_paths.py", "test_no_text_leads_outside_the_workspace"),
    33: Row(
        "absolute paths",
        "workspace/test_paths.py",
        "test_absolute_paths_are_taken_inside_and_refused_outside",
    ),
    34: Row(
        "a folder whose name begins like the workspace's", "workspace/test_paths.py", "test_paths_for_writing"
    ),
    35: Row(
        "links that lead outside",
        "workspace/test_paths.py",
        "test_links_are_followed_inside_and_refused_outside",
    ),
    36: Row("hard links", "workspace/test_paths.py", "test_a_second_hard_link_is_noted"),
    37: Row("paths in the style of Windows", "workspace/test_paths.py", "test_paths_for_writing"),
    38: Row("odd characters in names", "workspace/test_uris.py", "test_500_random_names_round_trip"),
    39: Row(
        "composed and decomposed names",
        "workspace/test_paths.py",
        "test_an_existing_file_is_found_under_either_unicode_form",
    ),
    40: Row(
        "names that differ in case only",
        "workspace/test_paths.py",
        "test_where_case_is_ignored_the_real_spelling_is_found",
    ),
    41: Row(
        "protected names", "domain/test_protected.py", "test_protected_names_have_a_danger_in_every_spelling"
    ),
    42: Row("folders that are missing", "workspace/test_undo.py", "test_undo_removes_only_empty_folders"),
    43: Row(
        "a parent that is a file, a name too long",
        "workspace/test_disk.py",
        "test_a_name_that_is_too_long_is_refused",
    ),
    44: Row("create over an existing file", "workspace/test_apply_more.py", "test_create_never_overwrites"),
    45: Row(
        "deletes and renames",
        "workspace/test_apply_more.py",
        "test_deletes_and_renames_that_meet_other_files_are_refused",
    ),
    46: Row(
        "several workspace folders",
        "workspace/test_paths.py",
        "test_a_path_is_found_in_one_of_several_folders",
    ),
    47: Row(
        "read-only files, no permission, a full disk",
        "workspace/test_disk.py",
        "test_a_full_disk_leaves_the_old_file",
    ),
    48: Row(
        "files outside, other schemes",
        "workspace/test_apply_more.py",
        "test_only_files_of_the_workspace_are_edited",
    ),
    49: Row(
        "ignored files and secrets", "workspace/test_paths.py", "test_a_secret_is_recognized_behind_a_link"
    ),
    50: Row(
        "no documentChanges",
        "workspace/test_apply.py",
        "test_every_set_of_editor_capabilities_leads_to_the_same_files",
    ),
    51: Row(
        "no resourceOperations",
        "workspace/test_apply.py",
        "test_every_set_of_editor_capabilities_leads_to_the_same_files",
    ),
    52: Row(
        "no changeAnnotations",
        "workspace/test_apply_more.py",
        "test_dangerous_changes_are_confirmed_in_the_editor_too",
    ),
    53: Row("no applyEdit", "workspace/test_apply.py", "test_nothing_is_written_under_an_unsaved_buffer"),
    54: Row(
        "an editor that refuses",
        "workspace/test_apply.py",
        "test_a_second_refusal_is_final_and_says_why",
    ),
    55: Row(
        "an editor that applies half",
        "workspace/test_apply.py",
        "test_half_an_edit_is_reported_file_by_file",
    ),
    56: Row(
        "an editor that applies something else",
        "workspace/test_apply.py",
        "test_an_edit_reported_as_applied_that_was_not_is_found_out",
    ),
    57: Row(
        "an editor that never answers",
        "workspace/test_apply.py",
        "test_without_an_answer_the_files_decide_what_was_applied",
    ),
    58: Row(
        "a new file and its text",
        "workspace/test_apply_more.py",
        "test_a_new_file_is_on_disk_with_its_text_and_the_rest_is_one_edit",
    ),
    59: Row(
        "undo by the user",
        "service/test_user_undo.py",
        "test_a_step_that_the_user_undid_in_the_editor_shows_it",
    ),
    60: Row("five hundred files", "workspace/test_apply_more.py", "test_five_hundred_files_go_in_batches"),
}


@cache
def functions(file: str) -> frozenset[str]:
    """The names of the tests in a file."""
    path = TESTS / file
    if not path.exists():
        return frozenset()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, kinds))


def missing() -> tuple[int, ...]:
    """The rows that no test shows."""
    return tuple(
        row for row in range(1, 61) if row not in ROWS or ROWS[row].test not in functions(ROWS[row].file)
    )


if __name__ == "__main__":
    for number, row in ROWS.items():
        sys.stdout.write(f"{number:>2}  {row.situation:<50} {row.file}::{row.test}\n")
