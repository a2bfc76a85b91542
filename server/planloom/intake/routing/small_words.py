"""The words of small actions and of questions in the languages that detection knows, without accents."""

from __future__ import annotations

from typing import Final

from planloom.domain.patterns import pattern
from planloom.intake.routing.words import VERBS, WORD_END, listed


def _set(text: str) -> frozenset[str]:
    return frozenset(listed(text))


LOOKING = _set(
    """
    show, list, find, search, look, count, check, see, explain, summarize, summarise, compare, inspect, review, audit,
    analyze, analyse, read, describe, run, rerun, execute, lint, grep, tell, verify, diff, query, zeig, zeige, liste,
    finde, such, suche, lies, erklar, erklare, beschreib, beschreibe, pruf, prufe, vergleich, vergleiche, zahl, zahle,
    fuhr, fuhre, fass, fasse, schau, starte, teste, montre, affiche, trouve, cherche, lis, explique, decris, verifie,
    compte, resume, lance, muestra, muestrame, ensena, lista, encuentra, busca, lee, explica, comprueba, verifica,
    revisa, compara, cuenta, ejecuta, corre, lanza, mostra, mostre, encontra, procura, procure, leia, descreve,
    descreva, verifique, conta, conte, resuma, executa, roda, rode, mostrami, elenca, trova, cerca, leggi, spiega,
    spiegami, descrivi, controlla, confronta, riassumi, esegui, lancia
    """
)
"""Verbs that change nothing themselves, whatever they are about."""
WHOLE = _set(
    """
    git, npm, npx, pnpm, yarn, pip, pytest, cargo, ls, cat, cd, tox, ruff, mypy, eslint, python, python3, uv, undo,
    redo, revert, commit, push, pull, stash, save, \0
    """
)
"""Commands, verbs that need no object, and names of files: what begins with them is small if it is short."""
STARTING = _set(
    """
    start, stop, restart, launch, kill, open, close, stoppe, stopp, beende, offne, demarre, arrete, redemarre,
    relance, ouvre, inicia, arranca, deten, reinicia, abre, abra, avvia, ferma, riavvia, apri
    """
)
CHANGING = _set(
    """
    create, add, make, put, write, append, prepend, insert, delete, del, remove, move, copy, fix, correct, format,
    sort, indent, comment, uncomment, bump, update, clear, touch, refresh, swap, increase, decrease, erstelle,
    erstell, lege, leg, mach, mache, losche, losch, entferne, entfern, verschiebe, kopiere, fuge, formatiere,
    sortiere, korrigiere, schreib, schreibe, aktualisiere, erhohe, cree, creer, ajoute, fais, ecris, supprime, efface,
    enleve, retire, deplace, copie, corrige, formate, trie, mets, crea, haz, anade, agrega, escribe, borra, elimina,
    quita, mueve, copia, formatea, ordena, actualiza, cria, crie, adiciona, adicione, acrescenta, faz, escreve, apaga,
    apague, exclui, exclua, remova, deleta, mova, corrija, formata, atualiza, aggiungi, fai, scrivi, cancella,
    rimuovi, togli, sposta, correggi, formatta, aggiorna
    """
)
EXCHANGING = _set(
    """
    rename, replace, change, set, turn, switch, bump, benenne, benenn, ersetze, ersetz, andere, setze, setz, renomme,
    remplace, renombra, reemplaza, cambia, renomeia, renomeie, substitui, substitua, troca, troque, muda, mude,
    rinomina, sostituisci, imposta
    """
)
"""Verbs whose object is any two words: rename foo to bar."""
PARTICLES: Final = {
    **dict.fromkeys(("fuhr", "fuhre"), _set("aus")),
    **dict.fromkeys(("fass", "fasse"), _set("zusammen")),
    **dict.fromkeys(("leg", "lege"), _set("an")),
    "fuge": _set("hinzu, ein, an"),
    **dict.fromkeys(("benenn", "benenne"), _set("um")),
}
"""German verbs whose last word completes them: "führe … ein" is another verb than "führe … aus"."""
ORDERS = (
    CHANGING
    | EXCHANGING
    | frozenset(VERBS)
    | _set(
        """
        migrate, convert, rewrite, improve, repair, mend, apply, port, split, extract, upgrade, let, drop, clean,
        rework, bau, baue, behebe, beheb, verbessere, repariere, migriere, stelle, stell, ergreife, implementiere,
        refaktoriere, rends, repare, ameliore, implemente, migre, construis, refactorise, modifie, arregla, mejora,
        implementa, migra, construye, refactoriza, convierte, modifica, conserta, melhora, implemente, refatora,
        migre, construa, converte, sistema, migliora, costruisci, converti, riscrivi, rendi
        """
    )
)
"""Verbs that begin an order to change something."""

STARTED = _set(
    """
    server, app, service, container, containers, process, debugger, watcher, database, editor, terminal, browser,
    settings, tab, tabs, pr, diff, shell, tests, serveur, application, servidor, serveurs
    """
)
NARROW = _set(
    """
    file, files, folder, directory, line, lines, comment, comments, typo, typos, import, imports, variable, constant,
    word, spelling, semicolon, comma, whitespace, newline, docstring, todo, version, port, title, label, colour,
    color, text, name, timeout, number, spacing, indentation, heading, link, url, readme, changelog, license,
    makefile, dockerfile, character, paragraph, sentence, string, value, parameter, argument, key, keys, hint,
    statement, border, margin, padding, font, icon, datei, dateien, ordner, verzeichnis, zeile, zeilen, kommentar,
    tippfehler, konstante, titel, namen, uberschrift, fichier, fichiers, dossier, repertoire, ligne, lignes,
    commentaire, faute, coquille, titre, texte, nom, archivo, archivos, fichero, ficheros, carpeta, directorio, linea,
    lineas, comentario, errata, titulo, texto, nombre, arquivo, arquivos, ficheiro, pasta, diretorio, linha, linhas,
    variavel, nome, cartella, riga, righe, commento, refuso, variabile, titolo, testo
    """
)
"""Things that are small wherever they are."""
NAMING = _set(
    """
    file, folder, directory, called, named, datei, ordner, verzeichnis, namens, fichier, dossier, repertoire, appele,
    nomme, archivo, fichero, carpeta, directorio, llamado, llamada, arquivo, ficheiro, pasta, diretorio, chamado,
    chamada, cartella, chiamato, chiamata
    """
)
"""Words behind which a name of any form may follow."""
AROUND = _set(
    """
    a, an, the, this, that, these, it, its, my, our, your, one, two, last, first, previous, next, new, old, empty,
    blank, unused, trailing, missing, wrong, extra, same, single, type, in, to, from, of, at, on, with, by, as, into,
    for, above, below, under, over, out, up, after, before, end, top, bottom, beginning, start, here, there, true,
    false, called, named, root, der, die, das, den, dem, des, ein, eine, einen, einem, einer, mal, zu, nach, von, aus,
    um, hinzu, auf, namens, neue, neuen, neuer, neues, leere, leeren, leeres, ungenutzten, letzte, erste, zusammen,
    bitte, le, la, les, l, un, une, des, du, de, dans, en, vers, par, au, aux, nomme, appele, vide, nouveau, nouvelle,
    sur, el, los, las, una, del, al, con, por, llamado, llamada, vacio, vacia, nuevo, nueva, o, os, um, uma, do, da,
    no, na, ao, para, pra, chamado, chamada, vazio, vazia, novo, nova, com, il, lo, gli, i, nel, nella, di, dal,
    dalla, chiamato, chiamata, vuoto, vuota, nuovo, nuova
    """
)
BROAD = _set(
    """
    all, every, each, everywhere, everything, across, whole, entire, throughout, whenever, when, if, unless, until,
    while, so, such, instead, because, since, should, must, everyone, always, never, alle, alles, jede, jeden, jedes,
    uberall, ganze, ganzen, wenn, falls, tout, toute, tous, toutes, partout, chaque, si, toda, todos, todas, cada,
    tutto, tutta, tutti, tutte, ovunque, ogni
    """
)

TALK = pattern(
    r"(?:thanks|thank\s+you|thx|ok|okay|yes|yep|no|nope|sure|great|cool|nice|perfect|sorry|never\s+mind|danke|merci"
    rf"|gracias|obrigad[oa]|grazie){WORD_END}|(?:good|continue|go(?:\s+on)?|stop|wait)(?:\s+(?:it|now|here))?\W*\Z|\W*\Z"
)
ASKING = pattern(
    r"(?:what|why|how|when|where|who|which|whose)(?:['’]?s)?\b(?![-'’])"
    r"|(?:is|are|was|were|does|did|has|should|am|could|would|will|may|might)(?:n['’]t)?\s+\S"
    r"|(?:do|have|can|shall)(?:n['’]t)?\s+(?:i|we|they|any|the\s+\w+\s+(?:have|need|use))\b"
    r"|any(?:\s+(?:idea|chance|reason)|one|body|thing)\b|(?:i|we)\s+(?:wonder|do\s+not|don['’]t)\s"
    r"|i['’]?m\s+(?:wondering|not\s+sure)|help\s+me\s+understand"
    r"|(?:the\s+)?(?:difference\s+between|meaning\s+of|purpose\s+of|reason\s+(?:for|why))\b"
    r"|(?:wie|warum|wieso|weshalb|wozu|wofur|woher|wohin|womit|wovon|wodurch|wo|wer|wen|wem|wessen|wann|was|welche[rsnm]?"
    r"|gibt\s+es|gibts|ist|sind|hat|haben|kann|wird|werden|darf|muss|soll)\s"
    r"|(?:pourquoi|comment(?!\s+(?:out|the|this|on|in|line|lines)\b)|ou|quand|qui|quoi|combien|quel(?:le)?s?|qu['’]est-ce|est-ce|y\s+a-t-il|il\s+y\s+a\s+quoi"
    r"|c['’]est\s+(?:quoi|ou|qui|quand|comment|combien)|(?:a|de|avec|par|pour)\s+(?:quoi|qui|quel(?:le)?s?)|d['’]ou"
    r"|que\s+(?:fait|font|signifie|contient|renvoie))\b"
    r"|¿|(?:(?:por|para|a|con|en|de|do|em|com)\s+(?:que|quien|quem)|como|donde|onde|adonde|cual(?:es)?|quais|qual"
    r"|quien(?:es)?|quem|quando|cuando|cuant[oa]s?|quant[oaie]s?|hay|existe[mn]?|o\s+que"
    r"|que\s+(?:hace|hacen|es|son|significa|devuelve|pasa|contiene|faz|fazem|sao|tipo|version|versao|fa))\b"
    r"|(?:perche|come|dove|chi|(?:a|di|che)\s+cosa|cosa|quale|quali|c['’]e|ci\s+sono|(?:com|cos|dov)['’]e|qual\s+e"
    r"|che\s+(?:fa|fanno|tipo|differenza|significa|versione)|a\s+che)\b"
    r"|(?:почему|как|где|что\s+такое|зачем|кто|когда|какои|какая|какие)\s"
    r"|(?:jak|dlaczego|gdzie|waarom|hoe|waar|varfor|hur|var)\s"
)
"""The openings of a sentence that asks."""
ASKING_ANYWHERE = pattern(
    r"[何哪誰谁吗왜]|なぜ|どこ|どう|どの|どれ|いつ|いくつ|什么|怎么|如何|呢\W*\Z|か\W*\Z|어떻게|무엇|어디"
)
WISHING = pattern(
    r"(?:can|could|would|will|might)\s+(?:you|we|i\s+(?:have|get))\b|(?:i|we)\s+(?:want|need|would\s+like){}"
    r"|(?:would|could)\s+it\s+be\b|how\s+about\b|why\s+(?:not|don['’]t\s+(?:you|we))\b"
    r"|(?:kannst|konntest|konnt|konnen|konnten|wurdest|wurdet|wurden|sollten|wollen)\s+(?:du|wir|sie|ihr|bitte)\b"
    r"|(?:ware|ist)\s+es\s+moglich|(?:ginge|geht)\s+(?:es|das)\b"
    r"|(?:est-ce\s+qu(?:e\s+|['’]))?(?:(?:tu|vous|on)\s+)?(?:peux|peut|pourrais|pourrait|pouvez|pourriez)\b|serait-il"
    r"|¿?(?:me\s+)?(?:puedes?|podria[sn]?|podemos|podriamos|se\s+puede|seria\s+posible)\b"
    r"|(?:voce\s+)?(?:pode[sm]?|poderia[ms]?|podemos|podiamos|consegue|da\s+(?:para|pra)|seria\s+possivel)\b"
    r"|(?:mi\s+)?(?:puoi|potresti|potete|possiamo|potremmo|si\s+(?:puo|potrebbe)|sarebbe)\b".replace(
        "{}", WORD_END
    )
)
"""The openings of a polite request, also one with a question mark."""
WISHING_ANYWHERE = pattern(
    r"ください|下さい|くれ|もらえ|ほしい|欲しい|お願い|[えけせてねべめれ]ますか|请|帮|给|把|줘|주세요"
)
WISHING_WORDS = pattern(
    r"\b(?:you|i|we)\s+(?:please\s+)?(?:explain|tell|show|describe|check|find|look|list|summari[sz]e|see|run|help\s+me\s+understand)\b"
    r"|\b(?:erklar|zeig|sag|beschreib|expliqu|dire|montr|decri|explica|mostra|muestra|decir|dizer|spiega|descri)"
)
"""A polite request for words alone."""
OBLIGING = pattern(r"\b(?:should|must|has\s+to|have\s+to|needs?\s+to|ought)\b")
