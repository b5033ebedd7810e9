"""What the hooks of the shop and of the tracker have in common."""

import json

import jsonschema_rs
import schemathesis
from schemathesis.core import NotSet


@schemathesis.hook
def before_call(context, case, kwargs):
    query = case.query or {}
    if is_meant_wrong(case):
        if "filter" in query and is_rule(case, query["filter"]):
            # The program changes one operand of the schema and then makes a rule of another, which is as it should be.
            query["filter"] = "\0"
        if case.method == "POST" and is_bulk(case):
            # An array is no record, and creates several all the same: the document has that apart.
            case.body = None
        return
    # A whole number that a double does not hold is a 400 wherever it stands, also in a property that is dropped.
    if not isinstance(case.body, NotSet):
        # An assigned body is validated again, and a missing one then counts as wrong, although it may be missing.
        case.body = exact(case.body)
    if query.get("sort"):
        # No schema that generators of clients understand says that a name comes once, in one direction or the other.
        query["sort"] = ",".join({name.lstrip("-"): name for name in query["sort"].split(",")}.values())
    if query.get("fields"):
        # An answer to some fields lacks others that its schema requires, as the parameter says.
        del query["fields"]


def is_bulk(case):
    return isinstance(case.body, list) and f"{case.operation.path}.bulk" in case.operation.schema.raw_schema["paths"]


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Has the text of `filter` made up by the schema of the rule in it."""
    for parameter in parameters_in(raw_schema):
        schema = parameter.get("schema", {})
        if schema.get("contentMediaType") == "application/json":
            del parameter["schema"], parameter["allowEmptyValue"]
            parameter["content"] = {"application/json": {"schema": schema["contentSchema"]}}


def parameters_in(value):
    if isinstance(value, dict):
        if value.get("in") == "query":
            yield value
        for each in value.values():
            yield from parameters_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from parameters_in(each)


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


def is_rule(case, text):
    """Tells if a text is a rule that the document takes somewhere."""
    components = case.operation.schema.raw_schema["components"]
    rules = [{"$ref": f"#/components/schemas/{name}"} for name in components["schemas"] if name.endswith("Rule")]
    schema = {"anyOf": rules, "components": components}
    try:
        return jsonschema_rs.is_valid(schema, json.loads(text))
    except (TypeError, ValueError):
        return False
