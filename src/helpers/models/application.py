"""How an instruction meets a text: the one place that turns a prompt into the literal prefix of each side.

Four ways, each recorded in every table (`application`):

- ``raw``: prompt + separator, before the text. The separator is explicit and recorded, because none at all fuses
  words ("clustering: engThe decoder").
- ``template``: the model's own or the study's template, e.g. ``Instruct: {instruction}\nQuery:``.
- ``default``: exactly what stock mteb does for this model in the installed version.
- ``none``: nothing on any side, not even mteb's or sentence-transformers' fall-back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from helpers.base.errors import StudyError
from helpers.models.role import Role
from helpers.models.shape import Model
from helpers.prompts.prompt import Prompt
from helpers.tasks.kinds import SIDED_TYPES

Application = Literal["raw", "template"]
DOCUMENT_PROMPT_NAMES = ("document", "passage", "corpus")


@dataclass(frozen=True)
class Prefixes:
    """The literal strings that stand before a text: on the query side, the document side and without sides."""

    query: str
    document: str
    both: str
    application: str
    separator: str | None

    def of(self, role: Role) -> str:
        return {"query": self.query, "document": self.document, None: self.both}[role]


def prefixes(
    model: Model, task_metadata: Any, prompt: Prompt, application: Application = "raw", separator: str = " "
) -> Prefixes:
    """What a prompt puts before the texts of a task for one model. A prompt is applied once and never stripped.

    The document side never carries the prompt; it keeps the prefix that the model owns (e.g. ``passage: ``), whichever
    way the prompt is set, but no fall-back instruction of mteb. Only ``none`` removes the model's own prefix too.
    """
    if prompt.kind == "none":
        return Prefixes("", "", "", "none", None)
    if prompt.kind == "default":
        roles: tuple[Role, ...] = ("query", "document", None)
        query, document, both = (stock_prefix(model.wrapper, task_metadata, role) for role in roles)
        return Prefixes(query, document, both, "default", None)
    application = model.spec.application or application
    text = prompt.text or ""
    if application == "raw":
        prefix, used = text + separator, separator
    else:
        prefix, used = fill_template(model.template, text, model.label), None
    document = document_prefix(model.wrapper, task_metadata)
    return Prefixes(prefix, document, prefix, application, used)


def fill_template(template: str | None, instruction: str, label: str) -> str:
    """The template with the instruction in its place, nothing else changed."""
    if template is None:
        raise StudyError(
            f"model {label} has no instruction template; set prompts.application to raw, or give the model a 'template'"
        )
    return template.replace("{instruction}", instruction)


def stock_prefix(wrapper: Any, task_metadata: Any, role: Role) -> str:
    """The prefix that stock mteb's wrapper puts before a text of this role, fall-backs included."""
    from mteb.models.instruct_wrapper import InstructSentenceTransformerModel
    from mteb.models.sentence_transformer_wrapper import SentenceTransformerEncoderWrapper, _resolve_prompt
    from mteb.types import PromptType

    prompt_type = None if role is None else PromptType(role)
    if isinstance(wrapper, InstructSentenceTransformerModel):
        if role == "document" and not wrapper.apply_instruction_to_passages:
            return _own_prompt(wrapper.model, None)
        return str(wrapper.get_task_instruction(task_metadata, prompt_type))
    if isinstance(wrapper, SentenceTransformerEncoderWrapper):
        prompt = _resolve_prompt(wrapper.model_prompts, task_metadata, prompt_type)
        return prompt if prompt is not None else _own_prompt(wrapper.model, role)
    raise StudyError(f"the mteb wrapper {type(wrapper).__name__} does not say which prompt it uses")


def document_prefix(wrapper: Any, task_metadata: Any) -> str:
    """The document prefix that a model owns, whatever prompt its queries carry.

    It is stock mteb's, except where an Instruct wrapper would put the task's instruction or mteb's fall-back, e.g.
    "Retrieve text based on user query.", on documents, as it does unless told otherwise: that belongs to the default run
    only.
    """
    from mteb.models.instruct_wrapper import InstructSentenceTransformerModel
    from mteb.types import PromptType

    stock = stock_prefix(wrapper, task_metadata, "document")
    if not isinstance(wrapper, InstructSentenceTransformerModel) or not wrapper.apply_instruction_to_passages:
        return stock
    template = wrapper.instruction_template
    if callable(template) and "{instruction}" not in template("{instruction}", PromptType.document):
        return stock
    for key in (task_metadata.name, task_metadata.type, "document"):
        given = (wrapper.prompts_dict or {}).get(key)
        if given is not None and (key == "document" or isinstance(given, dict)):
            return stock
    return _own_prompt(wrapper.model, None)


def _own_prompt(model: Any, role: Role) -> str:
    """What sentence-transformers itself prepends where mteb passes no prompt."""
    names = {"query": ("query",), "document": DOCUMENT_PROMPT_NAMES, None: ()}[role]
    for name in names:
        if model.prompts.get(name):
            return str(model.prompts[name])
    if model.default_prompt_name is not None:
        return str(model.prompts.get(model.default_prompt_name) or "")
    return ""


def has_sides(task_metadata: Any) -> bool:
    """Whether mteb tells queries from documents on this task: only in the retrieval family."""
    return task_metadata.type in SIDED_TYPES
