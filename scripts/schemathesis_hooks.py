"""What the hooks of the shop and of the tracker have in common."""

import json

import jsonschema_rs
import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    # A whole number that a double does not hold is a 400 wherever it stands, also in a property that is dropped.
    if not is_meant_wrong(case):
        case.body = exact(case.body)


def exact(value):
    """Rounds whole numbers as JavaScript reads them."""
    if isinstance(value, dict):
        return {name: exact(each) for name, each in value.items()}
    if isinstance(value, list):
        return [exact(each) for each in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53:
        return int(float(value)) if abs(value) < 10**300 else 0
    return value


def is_meant_wrong(case):
    return case.meta is not None and case.meta.generation.mode == schemathesis.GenerationMode.NEGATIVE


def is_rule(case, name, text):
    """Tells if a text is a rule that the document takes there, by the name of the rule's schema."""
    components = case.operation.schema.raw_schema["components"]
    schema = {"$ref": f"#/components/schemas/{name}", "components": components}
    try:
        return jsonschema_rs.is_valid(schema, json.loads(text))
    except (TypeError, ValueError):
        return False
