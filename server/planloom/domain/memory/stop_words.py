"""Words that requests on any subject contain: two requests that share only these are not about the same thing."""

from __future__ import annotations

from typing import Final

_ENGLISH: Final = """
a about above after again all also am an and any are as at be because been before being below between both but by
can cannot could did do does doing down during each else every few first for from further get gets give given go
goes had has have having he her here hers him his how i if in into is it its itself just last let like many may me
might more most much must my need needs new next no nor not now of off old on once one only or other our out over
own per please same second she should so some such than that the their them then there these they third this those
through to too two under until up us use used uses using very want wants was way we were what when where whether
which while who why will with within without would yes you your
"""
_GERMAN: Final = """
aber alle als auch auf aus bei bin bitte das dass dem den der des die dies diese dieser doch ein eine einem einen
einer eines er es fur für hat ich ihr im ist ja kann kein keine mach mache man mehr mit muss nach nicht noch nur ob
oder sich sie sind soll sollen um und uns unter vom von vor war wenn werden wie wir wird zu zum zur über
"""
_ROMANCE: Final = """
agli al algo alla anche ao aos au aux avec ce ces cette chaque che chi ci com como con cual cuando da dal dalla dans
de degli dei del della delle desde di donde dos du e el ela ele ella elle ellos em en entre era eres essa esse est
esta este esto et gli hay il isso je já la las le les leur lo los lui ma mais mas mes meu mi minha mon muy más na
nada nas ne nei nel nella non nos notre nous num o os ou où par para pas pela pelo pero più por porque pour qu
quando que quello questa questo qui quiero sa sans se ses seu sin sobre son sono su sua sul sulla sur sus são
también também tem todas todo todos tous tout toutes tra très tu tutti tutto uma un una une uno você vous y ya
"""
"""French, Spanish, Portuguese and Italian."""
_OF_ANY_WORK: Final = """
add added adds adiciona adicionar aggiungi ajoute ajouter allow app application apply archivo archivos area arquivo
arquivos añade añadir back build built button call called carpeta cartella case change changed changes check checked
class classes code complete completed component components contain contains content contents crea crear create
created creates cria criar crée créer current datei dateien default delete deleted detail details directory done
dossier edit edited ensure entry error errors erstelle erstellen example exist existing exists fail failed fails
feature fichier fichiers file files find fix fixed folder folders found full function functions füge good handle
handled helper hinzu implement implemented improve include included instead issue keep kept lege lib line lines list
look made main make makes method methods missing module modules move moved name named names object open option
options ordner output package page pages pass passed passes path paths place plan plans problem program project put
read reads remove removed rename renamed repo report reported request result results return returned returns run
running runs save schreibe schreiben script set sets show shown shows side simple site source src start step steps
still string support system task tasks test tested tests text thing things tool try type types update updated
updates utility value values variable verify version website work works workspace write writes written wrote ändern
änderung
"""
"""Words of requests and reports on any program."""
_OF_ANY_SUBJECT: Final = """
__init__.py __main__.py app.py cargo.toml changelog.md conftest.py dockerfile go.mod helpers.py index.html index.js
index.ts index.tsx lib.rs main.go main.js main.py main.rs main.ts makefile mod.rs package-lock.json package.json
pyproject.toml readme.md readme.txt setup.py style.css styles.css tsconfig.json types.ts utils.py utils.ts
"""

STOP_WORDS: Final = frozenset(f"{_ENGLISH} {_GERMAN} {_ROMANCE} {_OF_ANY_WORK}".split())
"""Words that are no terms."""
GENERIC_NAMES: Final = frozenset(_OF_ANY_SUBJECT.split())
"""File names that are common in any project: only the whole path tells such a file from others."""
