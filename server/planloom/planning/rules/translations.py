"""The words of the grammar in other languages, each with the English word that the forms of calls are written in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial

from planloom.intake.words import LETTER, any_of

_WORDS = {
    "de": """
        create: erstelle, erzeuge, lege / write: schreibe / delete: lösche, entferne / rename: benenne
        move: verschiebe / copy: kopiere / replace: ersetze / change: ändere / add: füge / run: führe
        read: lies / list: liste / folder: ordner, verzeichnis / file: datei / folders: verzeichnisse
        files: dateien / the: der, die, das, den, dem, des / a: ein, eine, einen, einem, einer
        new: neue, neuen, neuer, neues / empty: leere, leeren, leeres / called: namens / with: mit, durch
        content: inhalt / line: zeile / following: folgende, folgenden, folgendem, folgendes
        all: alle, jedes / and: und / then: dann, danach, anschließend / please: bitte / first: zuerst
        to: nach, zu / into: ins / at the end of: am ende von, ans ende von
        at the top of: am anfang von, an den anfang von / do: tu, mache / : um, aus, an, hinzu
        not: nicht, kein, keine, keinen / never: niemals, nie / no: nein / translate: übersetze
        example: beispiel / which: welche, welcher, welches / should: soll, sollen / tasks: aufgaben
        steps: schritte
    """,
    "fr": """
        create: crée, créez, créer, cree / write: écris, écrivez
        delete: supprime, supprimez, efface, effacez / rename: renomme, renommez / move: déplace, déplacez
        copy: copie, copiez / replace: remplace, remplacez / change: change, changez / add: ajoute, ajoutez
        run: exécute, exécutez, lance, lancez / read: lis, lisez / list: liste, listez
        folder: dossier, répertoire / file: fichier / folders: dossiers, répertoires / files: fichiers
        the: le, la, les, du / a: un, une / new: nouveau, nouvelle / empty: vide / called: appelé, nommé
        with: avec, par / content: contenu / line: ligne / following: suivant, suivants, suivantes
        all: tous, toutes / and: et / then: puis, ensuite / please: s'il te plaît, s'il vous plaît
        first: d'abord / in: dans / to: en, vers, à / of: de / at the end of: à la fin de, à la fin du
        at the top of: au début de, au début du / do: fais, faites / not: ne, pas, n'efface, n'effacez
        never: jamais / no: non / translate: traduis, traduisez / example: exemple
        which: quel, quelle, quels, quelles / should: devons-nous, doit-on / tasks: tâches / steps: étapes
    """,
    "es": """
        create: crea, cree, crear / write: escribe / delete: borra, elimina / rename: renombra / move: mueve
        copy: copia / replace: reemplaza, sustituye / change: cambia / add: añade, agrega / run: ejecuta
        read: lee / list: lista / folder: carpeta, directorio / file: archivo, fichero
        folders: carpetas, directorios / files: archivos, ficheros / the: el, la, los, las / a: un, una
        new: nuevo, nueva / empty: vacío, vacía / called: llamado, llamada / with: con, por
        content: contenido / line: línea / following: siguiente, siguientes / all: todos, todas, todo
        and: y / then: luego, después / please: por favor / first: primero / in: en / to: a, como / of: de
        at the end of: al final de / at the top of: al principio de, al inicio de / do: haz / not: no
        never: nunca / translate: traduce / example: ejemplo / which: qué, cuál
        should: debemos, deberíamos / tasks: tareas / steps: pasos
    """,
    "it": """
        create: crea, creare / write: scrivi / delete: elimina, cancella / rename: rinomina / move: sposta
        copy: copia / replace: sostituisci / change: cambia / add: aggiungi / run: esegui / read: leggi
        list: elenca / folder: cartella, directory / file: file / folders: cartelle
        the: il, la, lo, i, gli, le / a: un, una / new: nuovo, nuova / empty: vuoto, vuota
        called: chiamato, chiamata / with: con / content: contenuto / line: riga
        following: seguente, seguenti / all: tutti, tutte / and: e / then: poi / please: per favore
        first: prima / to: a / of: di / at the end of: alla fine di / at the top of: all'inizio di / do: fai
        not: non / never: mai / no: no / translate: traduci / example: esempio / which: quale, quali
        should: dobbiamo / tasks: compiti / steps: passi, passaggi
    """,
    "pt": """
        create: crie, cria, criar / write: escreva, escreve / delete: apague, apaga, exclua, elimine
        rename: renomeie, renomeia / move: mova / copy: copie / replace: substitua, troque
        change: mude, altere / add: adicione / run: execute, rode / read: leia / list: liste
        folder: pasta, diretório / file: arquivo, ficheiro / folders: pastas, diretórios
        files: arquivos, ficheiros / the: o, a, os, as / a: um, uma / new: novo, nova / empty: vazio, vazia
        called: chamado, chamada / with: com, por / content: conteúdo / line: linha
        following: seguinte, seguintes / all: todos, todas / and: e / then: depois / please: por favor
        first: primeiro / in: em, no, na / to: para / of: de / at the end of: ao final de, no fim de
        at the top of: no início de, no começo de / do: faça / not: não / never: nunca / translate: traduza
        example: exemplo / which: qual, quais / should: devemos / tasks: tarefas / steps: passos, etapas
    """,
}


@cache
def _languages() -> tuple[tuple[re.Pattern[str], dict[str, str], bool], ...]:
    """Of each language the pattern of its words, their English, and whether it renames "in" a name."""
    found = []
    for language, text in _WORDS.items():
        table: dict[str, str] = {}
        for entry in re.split(r"[/\n]", text):
            english, _, words = entry.partition(":")
            table.update(dict.fromkeys(map(str.strip, words.split(",")), english.strip()))
        table.pop("", None)
        words = rf"(?<![{LETTER}./@'’-])(?:{any_of(tuple(table))})(?![{LETTER}/@'’-]|\.\w)"
        found.append((re.compile(words, re.IGNORECASE), table, language in ("de", "it")))
    return tuple(found)


def _english(table: dict[str, str], found: re.Match[str]) -> str:
    return table[" ".join(found[0].casefold().split())]


def translations(text: str) -> Iterator[str]:
    """The text with the words of one language in English, for each language that has some of its words.

    White space is collapsed. A word that is a name in the text may be translated, too: whoever takes a name from the
    result looks for it in the text.
    """
    for words, table, renames_in in _languages():
        english = words.sub(partial(_english, table), text)
        if english != text:
            english = " ".join(english.split())
            yield english.replace(" in ", " to ") if renames_in and "rename " in english else english
