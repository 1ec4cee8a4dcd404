"""All pages of the reference, as values."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from docs.generator.facts import facts_page
from docs.generator.keys import codes_page, keys_page
from docs.generator.markdown import page
from docs.generator.names import actions_page, enums_page, flags_page, templates_page
from docs.generator.patterns import patterns_page
from docs.generator.policy import policy_page
from sweeprules.cli.loading import compile_site, load_catalogue
from sweeprules.engine.language.ast import Policy
from sweeprules.engine.ruletests import SUFFIX
from sweeprules.store.builtin import RULES, catalogue_text, schema
from sweeprules.store.site import SiteChoice

FOLDER = Path(__file__).resolve().parent.parent / "reference"
INDEX = """What rules can name, written from the schemas, the catalogue and the code. How to write rules is told in
[rules.md](../rules.md).

- [Facts](facts.md): what can be read of a job, a step, a run, a cluster and the others; which test stands on which type
- [Keys of the language](keys.md): what stands where in a policy file and in a rule test
- [Flags and signals](flags.md)
- [Actions, proofs and routes](actions.md)
- [Handoff templates](templates.md): what each is for, and what a template can read
- [Words](words.md): closed lists, reasons for being unknown, scheduler states
- [Lint codes](codes.md)
- [Shipped patterns](patterns.md): which lines of logs are known, with an example of each
- [The shipped policy](policy.md): rules, parameters, lists, patterns, features, exemptions, routes"""


def pages() -> dict[str, str]:
    """File name -> text of each page."""
    catalogue = load_catalogue()
    data = yaml.safe_load(catalogue_text())
    policy = shipped()
    return {
        "README.md": page("Reference", INDEX),
        "facts.md": facts_page(catalogue, schema("facts")),
        "keys.md": keys_page(schema("rules"), schema("rule-tests")),
        "flags.md": flags_page(catalogue, data, policy),
        "actions.md": actions_page(catalogue, data, policy),
        "templates.md": templates_page(catalogue, data),
        "words.md": enums_page(data),
        "codes.md": codes_page(),
        "patterns.md": patterns_page(policy, _shipped_tests()),
        "policy.md": policy_page(policy),
    }


def _shipped_tests() -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in RULES.glob(f"*{SUFFIX}")}


def shipped() -> Policy:
    """The policy of a site that extends the shipped one and changes nothing."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "sweeprules.yaml").write_text("extends: builtin\n", encoding="utf-8")
        return compile_site(SiteChoice(Path(folder), "--site")).policy
