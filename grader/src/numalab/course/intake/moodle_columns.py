"""The titles of columns in Moodle's offline grading worksheet and lists of participants.

A worksheet has Moodle's strings in the language of the user who downloads it: `assign` recordid,
hiddenuser, maxgrade, gradecanbechanged, lastmodifiedsubmission, lastmodifiedgrade; `moodle`
fullname, email, firstname, lastname, idnumber, username, grade, no; `assignfeedback_comments`
pluginname (mod/assign/gradingtable.php has their order). The strings are those of Moodle's language
packs (https://download.moodle.org/langpack/), as public repositories have them: fr of version 5.0,
de of 4.5, es, it and pt of 4.1, pl of 4.0, pt_br of 3.5, nl of 3.9 and 2.8. If a pack has changed,
older spellings follow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from numalab.course.intake.trees import folded

Column = Literal[
    "identifier", "name", "email", "first", "last", "idnumber", "login", "grade", "maximum",
    "changeable", "moodle_time", "modified", "feedback",
]  # fmt: skip


@dataclass(frozen=True)
class MoodleLanguage:
    """Moodle's words in one language.

    Attributes:
        columns: the titles that each column may have.
        no: the word for "no" in a cell.
        locales: CLDR's locales in which times are written.
    """

    columns: Mapping[Column, Sequence[str]]
    no: str
    locales: tuple[str, ...]


LANGUAGES: Mapping[str, MoodleLanguage] = {
    "en": MoodleLanguage(
        {
            "identifier": ("Identifier",),
            "name": ("Full name",),
            "email": ("Email address",),
            "first": ("First name",),
            "last": ("Last name", "Surname"),
            "idnumber": ("ID number",),
            "login": ("Username",),
            "grade": ("Grade",),
            "maximum": ("Maximum grade",),
            "changeable": ("Grade can be changed",),
            "moodle_time": ("Last modified (submission)",),
            "modified": ("Last modified (grade)",),
            "feedback": ("Feedback comments",),
        },
        "No",
        ("en",),
    ),
    "de": MoodleLanguage(
        {
            "identifier": ("ID",),
            "name": ("Vollständiger Name",),
            "email": ("E-Mail-Adresse",),
            "first": ("Vorname",),
            "last": ("Nachname",),
            "idnumber": ("ID-Nummer",),
            "login": ("Anmeldename",),
            "grade": ("Bewertung",),
            "maximum": ("Bestwertung", "Beste Bewertung"),
            "changeable": ("Bewertung kann geändert werden",),
            "moodle_time": ("Zuletzt geändert (Abgabe)",),
            "modified": ("Zuletzt geändert (Bewertung)",),
            "feedback": ("Feedback als Kommentar",),
        },
        "Nein",
        ("de", "de_AT"),
    ),
    "fr": MoodleLanguage(
        {
            "identifier": ("Identifiant",),
            "name": ("Nom complet",),
            "email": ("Adresse de courriel",),
            "first": ("Prénom",),
            "last": ("Nom de famille",),
            "idnumber": ("Numéro d'identification",),
            "login": ("Nom d'utilisateur",),
            "grade": ("Note",),
            "maximum": ("Note maximale",),
            "changeable": ("La note peut être modifiée",),
            "moodle_time": ("Dernière modification (travail remis)",),
            "modified": ("Dernière modification (note)",),
            "feedback": ("Feedback par commentaires",),
        },
        "Non",
        ("fr",),
    ),
    "es": MoodleLanguage(
        {
            "identifier": ("Identificador",),
            "name": ("Nombre completo",),
            "email": ("Dirección de correo",),
            "first": ("Nombre",),
            "last": ("Apellido(s)",),
            "idnumber": ("Número de ID",),
            "login": ("Nombre de usuario",),
            "grade": ("Calificación",),
            "maximum": ("Calificación máxima",),
            "changeable": ("La calificación puede ser cambiada",),
            "moodle_time": ("Última modificación (entrega)",),
            "modified": ("Última modificación (calificación)",),
            "feedback": ("Comentarios de retroalimentación",),
        },
        "No",
        ("es",),
    ),
    "it": MoodleLanguage(
        {
            "identifier": ("Identificativo",),
            "name": ("Nome",),  # the first name if there is a column Cognome
            "email": ("Indirizzo email",),
            "last": ("Cognome",),
            "idnumber": ("Codice identificativo",),
            "login": ("Username",),
            "grade": ("Valutazione",),
            "maximum": ("Valutazione massima", "Voto massimo"),
            "changeable": ("La valutazione può essere cambiata",),
            "moodle_time": ("Ultima modifica (consegna)",),
            "modified": ("Ultima modifica (valutazione)",),
            "feedback": ("Commenti",),
        },
        "No",
        ("it",),
    ),
    "pt": MoodleLanguage(
        {
            "identifier": ("Identificador",),
            "name": ("Nome completo",),
            "email": ("Endereço de e-mail", "E-mail"),
            "first": ("Nome",),
            "last": ("Apelido",),
            "idnumber": ("Número de identificação (ID)",),
            "login": ("Nome de utilizador",),
            "grade": ("Avaliação", "Nota"),
            "maximum": ("Nota máxima",),
            "changeable": ("A nota pode ser alterada.",),
            "moodle_time": ("Última atualização (submissão)",),
            "modified": ("Última atualização (avaliação)",),
            "feedback": ("Comentários de feedback",),
        },
        "Não",
        ("pt_PT", "pt"),
    ),
    "pt_br": MoodleLanguage(
        {
            "identifier": ("Identificador",),
            "name": ("Nome completo",),
            "email": ("Endereço de email",),
            "first": ("Nome",),
            "last": ("Sobrenome",),
            "idnumber": ("Número de identificação",),
            "login": ("Identificação de usuário", "Nome de usuário"),
            "grade": ("Nota",),
            "maximum": ("Nota máxima",),
            "changeable": ("Nota pode ser alterada",),
            "moodle_time": ("Última modificação (envio)",),
            "modified": ("Última modificação (nota)",),
            "feedback": ("Comentários de feedback",),
        },
        "Não",
        ("pt",),
    ),
    "nl": MoodleLanguage(
        {
            "identifier": ("Identificatie",),
            "name": ("Volledige naam",),
            "email": ("E-mailadres",),
            "first": ("Voornaam",),
            "last": ("Achternaam",),
            "idnumber": ("Nummer (ID)",),
            "login": ("Gebruikersnaam",),
            "grade": ("Cijfer", "Beoordeling"),
            "maximum": ("Maximaal cijfer",),
            "changeable": ("Het cijfer kan gewijzigd worden",),
            "moodle_time": ("Laatst gewijzigd (inzending)",),
            "modified": ("Laatst gewijzigd (beoordeling)",),
            "feedback": ("Feedback tekstvak",),
        },
        "Nee",
        ("nl",),
    ),
    "pl": MoodleLanguage(
        {
            "identifier": ("identyfikator",),
            "name": ("Pełna nazwa",),
            "email": ("E-mail",),
            "first": ("Imię",),
            "last": ("Nazwisko",),
            "idnumber": ("Numer Indeksu", "Numer ID"),
            "login": ("Nazwa użytkownika",),
            "grade": ("Ocena",),
            "maximum": ("Maksymalna ocena",),
            "changeable": ("Ocena może być zmieniona",),
            "moodle_time": ("Ostatnia modyfikacja (przesłane rozwiązanie)",),
            "modified": ("Ostatnia aktualizacja (ocena)",),
            "feedback": ("Komentarz zwrotny",),
        },
        "Nie",
        ("pl",),
    ),
}
# Columns that only a worksheet has.
_WORKSHEETS: frozenset[Column] = frozenset({"changeable", "moodle_time", "modified"})
_MAIL = re.compile(r"[^\s@]+@[^\s@]+")


def _key(header: str) -> str:
    """Return a title in a form in which case, the kinds of blanks and of apostrophes, and final
    full stops don't matter."""
    return folded(header.replace("\u2019", "'")).rstrip(".")


def participant(identifier: str) -> str:
    """Return the number at the end of a text such as `Participant 123`, in whatever language; empty
    if there is none."""
    found = re.search(r"(\d+)\s*$", identifier)
    return found[1] if found else ""


@dataclass(frozen=True)
class Header:
    """The columns of a table by their meaning in Moodle.

    Attributes:
        language: the key in LANGUAGES of the language that most titles are in; None: no title is
            known.
        places: index of each column that was recognized.
    """

    language: str | None
    places: Mapping[Column, int]

    @property
    def is_worksheet(self) -> bool:
        return not _WORKSHEETS.isdisjoint(self.places)

    @property
    def words(self) -> MoodleLanguage | None:
        return LANGUAGES.get(self.language or "")


def _match_columns(header: Sequence[str], words: MoodleLanguage) -> dict[Column, int]:
    keys = [_key(cell) for cell in header]
    found: dict[Column, int] = {}
    for column, names in words.columns.items():
        places = [keys.index(_key(name)) for name in names if _key(name) in keys]
        if places:
            found[column] = places[0]
    if "name" in found and "last" in found and "first" not in words.columns:
        found["first"] = found.pop("name")
    elif "first" in found and not {"name", "last"} & found.keys():
        found["name"] = found.pop("first")
    return found


def read_header(header: Sequence[str], rows: Sequence[Sequence[str]] = ()) -> Header:
    """Recognize the columns of one of Moodle's tables, in the language that has most of its titles.

    Of columns without a known title, the one before the grade's maximum is the grade, a single one
    after the time of the grade the feedback, and the first one whose cells, but for empty ones, are
    all e-mail addresses the email, if some other column is recognized. rows: those below the
    header.
    """
    by_language = {name: _match_columns(header, words) for name, words in LANGUAGES.items()}
    language = max(by_language, key=lambda name: len(by_language[name]))
    places = by_language[language]
    unknown = sorted({*range(len(header))} - set(places.values()))
    if "grade" not in places and places.get("maximum", 0) - 1 in unknown:
        places["grade"] = places["maximum"] - 1
        unknown.remove(places["grade"])
    last = len(header) - 1
    if "feedback" not in places and places.get("modified") == last - 1 and last in unknown:
        places["feedback"] = last
        unknown.remove(last)
    if places and "email" not in places:
        for index in unknown:
            cells = [row[index].strip() for row in rows if index < len(row) and row[index].strip()]
            if cells and all(map(_MAIL.fullmatch, cells)):
                places["email"] = index
                break
    return Header(language if places else None, places)
