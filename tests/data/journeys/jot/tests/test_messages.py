import json
import re
import unittest

from jot.messages import LOCALE, Messages, language


class MessagesTest(unittest.TestCase):
    def test_language(self) -> None:
        self.assertEqual(language({"LANG": "de_AT.UTF-8"}), "de")
        self.assertEqual(language({"LC_ALL": "fr_FR", "LANG": "de_DE"}), "fr")
        self.assertEqual(language({"LANG": "C.UTF-8"}), "en")
        self.assertEqual(language({}), "en")

    def test_what_a_language_lacks_is_in_english(self) -> None:
        self.assertEqual(Messages("fr")("removed", number=2), "Removed note 2.")

    def test_placeholders_are_those_of_the_english_message(self) -> None:
        english = json.loads((LOCALE / "en.json").read_text(encoding="utf-8"))
        for path in LOCALE.glob("*.json"):
            for key, text in json.loads(path.read_text(encoding="utf-8")).items():
                with self.subTest(file=path.name, key=key):
                    names = re.findall(r"{(\w+)}", text)
                    self.assertEqual(names, re.findall(r"{(\w+)}", english[key]))
