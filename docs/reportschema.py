#!/usr/bin/env python3
"""reportschema.py - the JSON Schema of report.json, from the tables of report.md

SPDX-License-Identifier: Apache-2.0

    docs/reportschema.py > docs/report.schema.json

A table below "### Name" is an object. A row is a field, its type and its
meaning; "(fields)" means all fields of another object.
"""
import json
import os
import re
import sys

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "report.md")
WORDS = {"text": "string", "integer": "integer", "number": "number",
         "boolean": "boolean", "null": "null"}


def plain(text):
    """Markdown without links and marks."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"[`*]", "", text).strip()


def tables(page):
    """{object: (its description, [(field, type, meaning)])} in their order."""
    objects = {}
    for part in re.split(r"^### ", page, flags=re.M)[1:]:
        name, _, rest = part.partition("\n")
        prose = rest.split("\n| field |", 1)[0]
        rows = []
        for line in rest.splitlines():
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            if len(cells) == 3 and cells[0] not in ("field", "---"):
                rows.append(tuple(cells))
        objects[name.strip()] = (plain(" ".join(prose.split())), rows)
    return objects


def schema_of(kind):
    """The schema of a type as the tables write it."""
    if kind.startswith("list of "):
        # "list of integer or null, or null": the list may be null, too.
        items, _, behind = kind[len("list of "):].partition(", or ")
        schema = {"type": "array", "items": schema_of(items)}
        return {"anyOf": [schema, schema_of(behind)]} if behind else schema
    if kind.startswith("map of "):
        return {"type": "object",
                "additionalProperties": schema_of(kind[len("map of "):])}
    choices = kind.split(" or ")
    if all(choice.startswith('"') for choice in choices):
        return {"enum": [choice.strip('"') for choice in choices]}
    if len(choices) > 1 and all(choice in WORDS for choice in choices):
        return {"type": [WORDS[choice] for choice in choices]}
    if len(choices) > 1:
        return {"anyOf": [schema_of(choice) for choice in choices]}
    link = re.fullmatch(r"\[(\w+)\]\(#(\w+)\)", kind)
    if link:
        if link.group(2) != link.group(1).lower():
            sys.exit("the link %s does not lead to its name" % kind)
        return {"$ref": "#/$defs/" + link.group(1)}
    if kind not in WORDS:
        sys.exit("%r is no type" % kind)
    return {"type": WORDS[kind]}


def fields_of(objects, name):
    """[(field, type, meaning)] with the fields of other objects in place."""
    if name not in objects:
        sys.exit("there is no table of %s" % name)
    found = []
    for field, kind, meaning in objects[name][1]:
        if field == "(fields)":
            found += fields_of(objects, plain(kind))
        else:
            found.append((field, kind, meaning))
    return found


def object_schema(objects, name):
    properties, required = {}, []
    for field, kind, meaning in fields_of(objects, name):
        if field in properties:
            sys.exit("%s has %s twice" % (name, field))
        if kind.startswith("optional "):
            kind = kind[len("optional "):]
        else:
            required.append(field)
        properties[field] = schema_of(kind)
        if meaning:
            properties[field]["description"] = plain(meaning)
    schema = {"type": "object", "properties": properties,
              "required": required, "additionalProperties": False}
    if objects[name][0]:
        schema["description"] = objects[name][0]
    return schema


def main():
    with open(PAGE, encoding="utf-8") as file:
        objects = tables(file.read())
    defs = ",\n".join("%s: %s" % (json.dumps(name),
                                  json.dumps(object_schema(objects, name)))
                      for name in objects)
    print('{"$schema": "https://json-schema.org/draft/2020-12/schema",\n'
          '"title": "report.json of ck, format_version 1",\n'
          '"$ref": "#/$defs/Report",\n"$defs": {\n%s}}' % defs)


main()
