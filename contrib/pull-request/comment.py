"""Writes the comment of a pull request, or replaces an earlier one of the same title.

    comment.py REPORT ERRORS CODE

REPORT is Markdown of `hugewise run`, ERRORS is its stderr, and CODE is its exit code. The token, the repository,
the event and the address of the API come from the variables that GitHub sets for each job.
"""

import json
import os
import sys
import urllib.error
import urllib.request

# GitHub refuses a longer body, counted in characters.
LONGEST = 65_536
PAGE = 100
SECONDS = 30
OUTCOMES = {
    0: "",
    2: "Not started: a setting of the action is wrong.",
    3: "A trial failed.",
    4: "Not possible here.",
    5: "**A condition of `fail-if` holds.**",
    6: "Another experiment has the machine.",
    7: "The result is in doubt, and `strict` is set.",
}


def request(method, path, body=None):
    """Returns the decoded answer of the API."""
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    call = urllib.request.Request(api + path, method=method)
    call.add_header("Authorization", "Bearer " + os.environ["GITHUB_TOKEN"])
    call.add_header("Accept", "application/vnd.github+json")
    call.add_header("X-GitHub-Api-Version", "2022-11-28")
    data = None
    if body is not None:
        data = json.dumps({"body": body}).encode()
        call.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(call, data, SECONDS) as answer:
        return json.load(answer)


def pull_request():
    """Returns the number of the pull request; None if the event has none."""
    with open(os.environ["GITHUB_EVENT_PATH"], encoding="utf-8") as file:
        event = json.load(file)
    issue = event.get("issue", {})
    pull = event.get("pull_request") or (issue if "pull_request" in issue else {})
    return pull.get("number")


def earlier(comments, marker):
    """Returns the identifier of the comment that begins with the marker; None if there is none.

    Anybody can copy the marker, but a token of a job can only change comments of bots.
    """
    page = 1
    while True:
        rows = request("GET", f"{comments}?per_page={PAGE}&page={page}")
        for row in rows:
            if row["user"]["type"] == "Bot" and row["body"].startswith(marker):
                return row["id"]
        if len(rows) < PAGE:
            return None
        page += 1


def body(marker, report, errors, code):
    """Returns the comment: title and outcome, the first paragraphs of the report, and the rest folded."""
    head = [marker, f"### {os.environ.get('TITLE', 'hugewise')}"]
    head.append(OUTCOMES.get(code, f"hugewise ended with code {code}."))
    # The headlines come first; a program's own answer begins with a heading.
    headline, _, rest = report.partition("\n## ")
    if not rest:
        headline, _, rest = report.partition("\n\n")
    else:
        rest = "## " + rest
    head.append(headline.strip())
    if errors.strip():
        head.append("```text\n" + errors.strip().replace("```", "'''") + "\n```")
    parts = [part for part in head if part]
    if rest.strip():
        room = LONGEST - len("\n\n".join(parts)) - 200
        parts.append("<details><summary>Report</summary>\n\n" + shortened(rest.strip(), room) + "\n\n</details>")
    return "\n\n".join(parts)[:LONGEST]


def shortened(text, room):
    """Returns the text, or its first lines and a remark."""
    if len(text) <= room:
        return text
    cut = text[:room].rpartition("\n")[0]
    # An odd number of fences leaves the last one open.
    if cut.count("```") % 2:
        cut += "\n```"
    return cut + "\n\nShortened: the whole report is in the job's summary."


def publish(number, marker, text):
    """Writes or replaces the comment, and returns its address."""
    issues = f"/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    comments = f"{issues}/{number}/comments"
    found = earlier(comments, marker)
    if found is None:
        return request("POST", comments, text)["html_url"]
    return request("PATCH", f"{issues}/comments/{found}", text)["html_url"]


def read(name):
    with open(name, encoding="utf-8", errors="replace") as file:
        return file.read()


def main():
    report, errors, code = sys.argv[1:]
    number = pull_request()
    if number is None:
        print("The event has no pull request: no comment.")
        return
    title = os.environ.get("TITLE", "hugewise").replace("--", "")
    marker = f"<!-- hugewise: {title} -->"
    text = body(marker, read(report), read(errors), int(code))
    try:
        address = publish(number, marker, text)
    except urllib.error.HTTPError as error:
        reason = error.read(1000).decode(errors="replace")
        hint = " (a fork's token cannot write comments)" if error.code == 403 else ""
        sys.exit(f"{error.code} from {error.url}{hint}: {reason}")
    except urllib.error.URLError as error:
        sys.exit(f"the API cannot be reached: {error.reason}")
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8") as file:
        file.write(f"comment={address}\n")
    print(f"commented: {address}")


if __name__ == "__main__":
    main()
