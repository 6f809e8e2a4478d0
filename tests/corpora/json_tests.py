"""JSONTestSuite and jsonchecker: a verdict for each file, one text a file."""

from pipeline import Run, conclude, names, parse_json, read

SUITE = ["json", "JSONTestSuite", "test_parsing"]
TRANSFORM = ["json", "JSONTestSuite", "test_transform"]
CHECKER = ["json", "jsonchecker"]
# Valid since RFC 7159: a scalar at the top, and 20 levels.
VALID = {"fail1.json", "fail18.json"}


def verdict(path):
    folder, name = path[:-1], path[-1]
    if folder == CHECKER:
        return "accept" if name.startswith("pass") or name in VALID else "refuse"
    if folder == SUITE:
        return {"y": "accept", "n": "refuse", "i": "either"}[name[0]]
    return "either"


def judge(path):
    data = read(*path)
    run = Run("json", data, "json", "--split", "no")
    if verdict(path) != "accept" and run.refused():
        return None
    if verdict(path) == "refuse" or not run.complete():
        return f"must {verdict(path)}; exits {run.exits}: {run.said}"
    # What is taken is kept exactly.
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    if run.out.count(b"\n") != 1:
        return "not one line"
    if parse_json(run.out.decode()) != parse_json(data.decode()):
        return f"the value changed: {run.out[:200]!r}"
    return None


conclude(judge, [folder + [name]
                 for folder in (SUITE, TRANSFORM, CHECKER)
                 for name in names(*folder) if name.endswith(".json")])
