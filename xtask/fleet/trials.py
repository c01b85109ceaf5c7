"""What may happen to an agent on its host. Each trial has a treated guest for itself, and leaves it as it
was; it returns what was seen."""

import io
import json
import tarfile

from guest import MODE

OUT = "/var/lib/hugewise/fleet"
PLAN = "/etc/hugewise/plan.toml"
TREATED = "always"
LEASE = 6
ARMS = """\
[[arm]]
name = "control"
policy = "as-is"
[[arm]]
name = "placebo"
policy = "as-is"
[[arm]]
name = "always"
policy = "thp={mode}"
weight = 2
"""


def plan(name, until, period=3, mode=TREATED):
    head = f'name = "{name}"\nuntil = {until}\nperiod = "{period}s"\nlease = "{LEASE}s"\n'
    return head + ARMS.format(mode=mode)


class Agent:
    """An agent on a guest, with a folder of rows and a log of its own."""

    def __init__(self, guest, out=OUT, environment="", more=""):
        self.guest, self.out = guest, out
        self.log = f"/tmp/agent-{guest.clock()}.log"
        self.pid = guest.say(
            f"{environment} setsid hugewise fleet agent {PLAN} --unit {guest.unit} --out {out} {more} >{self.log} 2>&1 & echo $!"
        ).strip()

    def lives(self):
        return self.guest.say(f"[ ! -d /proc/{self.pid} ] || grep -q ') Z' /proc/{self.pid}/stat || echo lives") != ""

    def said(self):
        return self.guest.say(f"cat {self.log}")

    def end(self):
        self.guest.say(f"kill {self.pid} || true")
        self.ends()

    def ends(self):
        self.guest.becomes("whether the agent lives", self.lives, False)
        self.guest.becomes("the setting afterwards", self.guest.mode, self.guest.usual)

    def periods(self):
        """Its periods, the first first, each a list of rows."""
        read = [[json.loads(line) for line in text.splitlines()] for _, text in files(self.guest, self.out)]
        return sorted(read, key=lambda rows: rows[0]["start"])

    def has(self, count):
        """Waits for so many periods."""
        files = f"find {self.out} -name '*.jsonl' 2>/dev/null | wc -l"
        self.guest.becomes(f"{count} periods", lambda: int(self.guest.say(files)) >= count, True)


def files(guest, out=OUT, ending=".jsonl"):
    """The names and the bytes of its files of rows."""
    with tarfile.open(fileobj=io.BytesIO(guest.raw(f"tar -c -C {out} ."))) as archive:
        for member in archive.getmembers():
            if member.name.endswith(ending):
                yield member.name, archive.extractfile(member).read()


def treat(guest, name, period=3, seconds=3600, **how):
    """A plan whose arm is in force on the guest, and its agent."""
    guest.say(f"rm -rf {OUT}")
    guest.write(PLAN, plan(name, guest.clock() + seconds, period))
    agent = Agent(guest, **how)
    guest.becomes("the arm's setting", guest.mode, TREATED)
    return agent


def lost(rows):
    """Seconds from period to period of which no row tells, at the most."""
    ends = [(period[0]["start"], period[0]["start"] + period[0]["seconds"]) for period in rows]
    return max(start - end for (_, end), (start, _) in zip(ends, ends[1:]))


def proved(guest, name):
    """The arm is in force, its rows prove it, and a signal ends it."""
    guest.say(f"rm -rf {OUT}")
    guest.write(PLAN, plan(name, guest.clock() + 3600))
    agent, wanted = Agent(guest), TREATED if guest.arm == TREATED else guest.usual
    # Memory that follows the setting.
    guest.say("setsid hugewise-lab touch --pages 4 --step 512 --repeat 2000000 >/dev/null 2>&1 & echo $! > /tmp/touch")
    guest.becomes("the arm's setting", guest.mode, wanted)
    agent.has(3)
    guest.becomes("the arm's setting", guest.mode, wanted)
    agent.end()
    guest.say("kill $(cat /tmp/touch)")
    rows = [row for period in agent.periods() for row in period]
    seen = {(row["unit"], row["arm"], row["proof"], row["exposure"]) for row in rows[:-1]}
    assert seen == {(guest.unit, guest.arm, "proved", 1.0)}, seen
    huge = max(row["mean"] for row in rows if row["metric"] == "huge_faults_per_second")
    assert (huge > 0) == (guest.arm == TREATED), huge
    return f"{len(rows)} rows prove {guest.arm}, {huge:.0f} huge faults a second"


def over(guest, name):
    """The plan ends, and so does its arm."""
    agent = treat(guest, name, seconds=25)
    agent.ends()
    assert "the plan is over" in agent.said(), agent.said()
    return "the old settings are back at the plan's end"


def killed(guest, name):
    """kill -9: the guardian restores; where it is killed too, the next start does."""
    agent = treat(guest, name)
    guest.say(f"kill -9 {agent.pid}")
    guest.becomes("the setting after the guardian", guest.mode, guest.usual)
    agent = treat(guest, name)
    guest.say("for own in /proc/[0-9]*; do [ \"$(readlink $own/exe)\" != /programs/hugewise ] || pids=\"$pids ${own#/proc/}\"; done\n"
              "kill -9 $pids")
    guest.becomes("whether the agent lives", agent.lives, False)
    # Long enough for a guardian that lives.
    guest.say("sleep 3")
    assert guest.mode() == TREATED, "somebody restored the setting"
    agent = Agent(guest, environment="HUGEWISE_FLEET_STOP=all")
    guest.becomes("the setting after the next start", guest.mode, guest.usual)
    agent.end()
    return "the guardian restores; killed with it, the next start does"


def clock(guest, name):
    """A wall clock that jumps by an hour moves neither the lease nor the end."""
    agent = treat(guest, name, period=2, seconds=7200)
    agent.has(2)
    for jump in [3600, -3630]:
        guest.say(f"date -s @$(($(date +%s) + {jump}))")
        guest.say(f"sleep {LEASE + 3}")
        assert guest.mode() == TREATED and agent.lives(), agent.said()
    agent.end()
    count = len(agent.periods())
    assert count > 8, f"{count} periods in more than {2 * LEASE} s"
    agent = treat(guest, name, seconds=25)
    guest.say("date -s @$(($(date +%s) - 3600))")
    agent.ends()
    guest.say("date -s @$(($(date +%s) + 3630))")
    agent = treat(guest, name, seconds=1800)
    guest.say("date -s @$(($(date +%s) + 3600))")
    agent.ends()
    guest.say("date -s @$(($(date +%s) - 3600))")
    return f"{count} periods over two jumps; set back, the plan ends in time; set beyond its end, it ends"


def parted(guest, name):
    """A plan that cannot be read holds for its lease."""
    agent = treat(guest, name)
    guest.say(f"mv {PLAN} {PLAN}.away")
    guest.say(f"sleep {LEASE // 3}")
    assert guest.mode() == TREATED, agent.said()
    guest.becomes("the setting after the lease", guest.mode, guest.usual)
    assert "its lease has ended" in agent.said(), agent.said()
    guest.say(f"mv {PLAN}.away {PLAN}")
    guest.becomes("the setting when the plan is back", guest.mode, TREATED)
    agent.end()
    return "the old settings are back after the lease, and the arm when the plan is"


def changed(guest, name):
    """A plan that changes midway takes over, and no period has rows of both."""
    agent = treat(guest, name)
    agent.has(2)
    guest.write(PLAN, plan(name, guest.clock() + 3600, mode="madvise"))
    guest.becomes("the new arm's setting", guest.mode, "madvise")
    before = len(agent.periods())
    agent.has(before + 2)
    agent.end()
    found = [{(row["plan"], row["ending"]) for row in period} for period in agent.periods()]
    assert all(len(one) == 1 for one in found), found
    one = [next(iter(one)) for one in found]
    digests = [digest for digest, _ in one]
    assert len(set(digests)) == 2 and digests == sorted(digests, key=digests.index), one
    last = len(digests) - 1 - digests[::-1].index(digests[0])
    assert one[last][1] == "stopped", one
    return f"{last + 1} periods under the old plan, the last of them cut short, {len(one) - last - 1} under the new one"


def full(guest, name):
    """A disk that is full for some periods costs none of them."""
    guest.say("mkdir -p /full && mount -t tmpfs -o size=256k tmpfs /full")
    agent = treat(guest, name, out="/full/rows")
    agent.has(2)
    guest.say("dd if=/dev/zero of=/full/filler bs=4k 2>/dev/null; [ -s /full/filler ]")
    guest.becomes("that the rows wait", lambda: "rows cannot be written" in agent.said(), True)
    guest.say("sleep 20")
    stored = len(agent.periods())
    guest.say("rm /full/filler")
    agent.has(stored + 5)
    agent.end()
    assert "0 periods lost" in agent.said(), agent.said()
    rows = agent.periods()
    assert lost(rows) < 2, f"{lost(rows)} s are missing"
    guest.say("umount /full")
    return f"{len(rows)} periods, of which the disk had {stored} when it was full"


TRIALS = [killed, clock, full, parted, changed, over]
