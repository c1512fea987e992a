"""Asking: the budget, the purse, patience, the breaker, what is kept, and what is given up."""

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from chat_server import TOKENS_IN, TOKENS_OUT, ChatServer, Request, Sent, completion
from rankproof.asking.asker import Asker, UnreadableError
from rankproof.asking.breaker import MOST_FAILURES
from rankproof.asking.budget import Budget, BudgetError, Purse, parse_budget
from rankproof.asking.desk import Desk
from rankproof.asking.estimate import estimate_of
from rankproof.asking.lanes import in_lanes, in_turn
from rankproof.asking.patience import Patience
from rankproof.asking.replies import key_of_ask
from rankproof.asking.stopping import AskingStoppedError
from rankproof.asking.tally import Sums
from rankproof.asking.usage import Usage, price
from rankproof.errors import UsageError, WorldError
from rankproof.experiment.replies import Books, JournalReplies
from rankproof.models.chat.llama import Llama
from rankproof.models.chat.port import Ask, ChatFailedError, ChatUnusableError, Message, Reply
from scripted_chat import ScriptedChat, reply

BUSY = ChatFailedError("busy", again=True)


def ask_of(text: str, **changes: object) -> Ask:
    return replace(Ask((Message("user", text),), 10), **changes)  # type: ignore[arg-type]


def desk_of(budget: Budget | None = None, pauses: list[float] | None = None, tries: int = 5) -> Desk:
    """A desk that notes its pauses and takes none."""
    return Desk(budget=budget, patience=Patience(tries=tries, sleep=(pauses if pauses is not None else []).append))


def yes(answer: Reply) -> str:
    if answer.text != "yes":
        raise UnreadableError(answer.text)
    return "yes"


def test_a_reply_is_read_and_its_cost_counted() -> None:
    model, sums = ScriptedChat(("yes",), price_in=3.0, price_out=5.0), Sums()
    with desk_of() as desk:
        assert desk.asker(model, "u").read(ask_of("a"), yes, sums) == "yes"
        assert desk.purse.spent == Usage(1, 10, 2, price(10, 2, 3.0, 5.0))
    assert {name: count for name, count in sums.counts.items() if count} == {"calls": 1, "tokens_in": 10, "tokens_out": 2}
    assert sums.seconds == 0.25
    assert model.log.loads == 1


def test_a_reply_of_no_use_is_asked_for_again_under_another_attempt() -> None:
    model, sums = ScriptedChat(("no", "hm", "yes")), Sums()
    with desk_of() as desk:
        assert desk.asker(model, "u").read(ask_of("a"), yes, sums) == "yes"
    assert [ask.attempt for ask in model.log.asks] == [0, 1, 2]
    assert (sums.counts["unreadable"], sums.counts["given_up"], sums.counts["calls"]) == (2, 0, 3)


def test_a_model_is_told_what_was_wrong_with_its_last_reply() -> None:
    model = ScriptedChat(("no", "hm", "yes"))
    with Desk() as desk:
        assert desk.asker(model, "u").read(ask_of("a"), yes, Sums())
    first, second, third = ([message.text for message in ask.messages] for ask in model.log.asks)
    assert first == [message.text for message in ask_of("a").messages]
    assert second[-1].startswith(first[-1])
    assert "could not be used" in second[-1]
    assert third[-1].count("could not be used") == 1


def test_after_every_attempt_an_ask_is_given_up_and_counted() -> None:
    sums = Sums()
    with desk_of() as desk:
        assert desk.asker(ScriptedChat(("no", "hm")), "u").read(ask_of("a"), yes, sums, attempts=2) is None
    assert (sums.counts["unreadable"], sums.counts["given_up"], sums.counts["failed"]) == (2, 1, 0)


def test_an_ask_without_a_reply_counts_as_failed_with_every_request() -> None:
    sums = Sums()
    with desk_of(tries=3) as desk:
        assert desk.asker(ScriptedChat((BUSY, BUSY, BUSY)), "u").read(ask_of("a"), yes, sums) is None
        assert desk.purse.spent.calls == 3
    assert (sums.counts["calls"], sums.counts["failed"], sums.counts["tokens_in"]) == (3, 1, 0)


def test_an_attempt_is_a_key_of_its_own_and_so_is_every_part_of_an_ask() -> None:
    asks = [ask_of("a"), ask_of("b"), ask_of("a", attempt=1), ask_of("a", logprobs=2), ask_of("a", schema="{}")]
    asks += [ask_of("a", max_tokens=11), ask_of("a", messages=(Message("system", "a"),))]
    assert len({key_of_ask(ask) for ask in asks}) == len(asks)


def test_requests_that_failed_first_count_with_the_reply() -> None:
    sums, pauses = Sums(), list[float]()
    with desk_of(pauses=pauses) as desk:
        answer = desk.asker(ScriptedChat((BUSY, BUSY, "yes")), "u").ask(ask_of("a"), sums)
    assert (answer.requests, sums.counts["calls"], sums.counts["failed"]) == (3, 3, 0)
    assert pauses == [0.5, 1.0]


def test_a_failure_that_may_not_pass_is_not_asked_again() -> None:
    model = ScriptedChat((ChatFailedError("no"),))
    with desk_of() as desk, pytest.raises(ChatFailedError):
        desk.asker(model, "u").ask(ask_of("a"), Sums())
    assert model.log.calls == 1


@pytest.mark.parametrize(
    ("wait", "request_number", "pause"),
    [
        (None, 1, 0.5),
        (None, 2, 1.0),
        (None, 4, 4.0),
        (None, 40, 30.0),
        (None, 99, None),
        (0.0, 1, 0.5),
        (7.0, 1, 7.0),
        (120.0, 1, 120.0),
        (121.0, 1, None),
        (3.5e8, 1, None),
    ],
)
def test_pauses_double_up_to_a_cap_and_keep_what_the_server_asks_for(
    wait: float | None, request_number: int, pause: float | None
) -> None:
    assert Patience(tries=99).pause(ChatFailedError("x", again=True, wait=wait), request_number) == pause


def test_wishes_that_were_refused_are_dropped_once_and_that_is_remembered() -> None:
    def picky(ask: Ask) -> str | Exception:
        return ChatFailedError("no", wishes=True) if ask.logprobs else "yes"

    model, sums = ScriptedChat(picky), Sums()
    with desk_of() as desk:
        asker = desk.asker(model, "u")
        for text in "abc":
            asker.ask(ask_of(text, logprobs=2), sums)
        assert asker.facts()["wishes_refused"]
    assert [ask.logprobs for ask in model.log.asks] == [2, 0, 0, 0]
    assert sums.counts["calls"] == 4


def test_messages_that_were_refused_do_not_cost_others_their_wishes() -> None:
    def strict(ask: Ask) -> str | Exception:
        return ChatFailedError("too long", wishes=bool(ask.logprobs)) if ask.messages[0].text == "long" else "yes"

    model, sums = ScriptedChat(strict), Sums()
    with desk_of() as desk:
        asker = desk.asker(model, "u")
        assert asker.read(ask_of("long", logprobs=2), yes, sums) is None
        assert asker.read(ask_of("short", logprobs=2), yes, sums) == "yes"
        assert not asker.facts()["wishes_refused"]
    assert [ask.logprobs for ask in model.log.asks] == [2, 0, 2]
    assert sums.counts["failed"] == 1


def test_too_many_failures_in_a_row_end_the_run() -> None:
    model, sums = ScriptedChat(lambda ask: BUSY), Sums()
    with desk_of(tries=1) as desk:
        asker = desk.asker(model, "u")
        for number in range(MOST_FAILURES - 1):
            assert asker.read(ask_of(str(number)), yes, sums) is None
        with pytest.raises(WorldError, match=f"{MOST_FAILURES} asks in a row failed"):
            asker.read(ask_of("last"), yes, sums)
    assert sums.counts["calls"] == model.log.calls == MOST_FAILURES


def test_a_reply_between_failures_keeps_the_run_going() -> None:
    def flaky(ask: Ask) -> str | Exception:
        return "yes" if int(ask.messages[0].text) % 5 == 4 else BUSY

    sums = Sums()
    with desk_of(tries=1) as desk:
        asker = desk.asker(ScriptedChat(flaky), "u")
        found = [asker.read(ask_of(str(number)), yes, sums) for number in range(30)]
    assert (found.count("yes"), sums.counts["failed"]) == (6, 24)


def test_requests_that_the_server_refuses_fail_one_by_one_and_never_end_the_run() -> None:
    def short_only(ask: Ask) -> str | Exception:
        return "yes" if int(ask.messages[0].text) >= 2 * MOST_FAILURES else ChatFailedError("status 413")

    sums = Sums()
    with desk_of() as desk:
        asker = desk.asker(ScriptedChat(short_only), "judge")
        found = [asker.read(ask_of(str(number)), yes, sums) for number in range(2 * MOST_FAILURES)]
        assert found == [None] * (2 * MOST_FAILURES)
        assert desk.notes() == (f"judge: the server refused every ask ({2 * MOST_FAILURES}), the last one so: status 413",)
        assert asker.read(ask_of(str(2 * MOST_FAILURES)), yes, sums) == "yes"
        assert desk.notes() == ()
    assert (sums.counts["failed"], sums.counts["refused"]) == (2 * MOST_FAILURES, 2 * MOST_FAILURES)


def test_a_refusal_between_failures_neither_counts_as_one_nor_as_a_reply() -> None:
    def script(ask: Ask) -> Exception:
        return ChatFailedError("status 413") if ask.messages[0].text == "long" else BUSY

    sums = Sums()
    with desk_of(tries=1) as desk:
        asker = desk.asker(ScriptedChat(script), "u")
        for number in range(MOST_FAILURES - 1):
            asker.read(ask_of(str(number)), yes, sums)
        assert asker.read(ask_of("long"), yes, sums) is None
        with pytest.raises(WorldError, match=f"{MOST_FAILURES} asks in a row failed"):
            asker.read(ask_of("last"), yes, sums)
    assert sums.counts["refused"] == 1


def test_an_ask_whose_last_attempt_brought_no_reply_has_failed_whatever_came_before() -> None:
    sums = Sums()
    with desk_of(tries=1) as desk:
        assert desk.asker(ScriptedChat(("no", BUSY)), "u").read(ask_of("a"), yes, sums) is None
    assert (sums.counts["unreadable"], sums.counts["failed"], sums.counts["given_up"]) == (1, 1, 0)


def test_the_same_ask_of_two_lanes_is_paid_for_once() -> None:
    twice = threading.Event()

    def slow(ask: Ask) -> str:
        if model.log.calls > 1:
            twice.set()
        twice.wait(0.2)  # long enough for a second request, were there one
        return "yes"

    model, sums = ScriptedChat(slow), Sums()
    with desk_of() as desk:
        asker = desk.asker(model, "u")
        first, second = in_lanes(desk, lambda number: asker.ask(ask_of("a"), sums), range(2), 2)
        assert (desk.purse.spent.calls, desk.purse.spent.journaled) == (1, 1)
    assert first == second
    assert model.log.calls == 1


def test_an_ask_that_failed_in_one_lane_is_asked_by_the_other_that_waited_for_it() -> None:
    waiting, asked = threading.Event(), threading.Event()

    def script(ask: Ask) -> str | Exception:
        if model.log.calls > 1:
            return "yes"
        asked.set()
        assert waiting.wait(20)
        return ChatFailedError("status 400")

    model = ScriptedChat(script)

    def one(number: int) -> str | None:
        if number:
            assert asked.wait(20)
            waiting.set()
        return asker.read(ask_of("a"), yes, Sums())

    with desk_of() as desk:
        asker = desk.asker(model, "u")
        assert in_lanes(desk, one, range(2), 2) == [None, "yes"]


def test_what_no_request_will_mend_goes_through() -> None:
    with desk_of() as desk, pytest.raises(ChatUnusableError):
        desk.asker(ScriptedChat((ChatUnusableError("wrong key"),)), "u").read(ask_of("a"), yes, Sums())


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("calls=500,tokens=2000000,money=1.50", Budget(500, 2_000_000, 1.5)),
        ("calls=0", Budget(0)),
        (" money = 2 , tokens = 1_000 ", Budget(None, 1000, 2.0)),
    ],
)
def test_a_budget_is_read(text: str, budget: Budget) -> None:
    assert parse_budget(text) == budget


UNCLEAR = ["", "500", "calls", "calls=", "calls=x", "calls=-1", "calls=1,calls=2", "cash=1", "money=nan", "money=-1"]


@pytest.mark.parametrize("text", UNCLEAR)
def test_a_budget_that_says_nothing_clear_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_budget(text)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("calls", [0, 1, 13])
def test_a_server_never_sees_more_requests_than_the_budget_has(lanes: int, calls: int) -> None:
    def shaky(request: Request) -> Sent:
        return Sent(503) if request.number == 1 else completion("yes")

    with ChatServer(shaky) as server, desk_of(Budget(calls=calls)) as desk:
        asker = desk.asker(server.model(concurrency=lanes), "u")
        with pytest.raises(BudgetError, match=r"the budget of [0-9]+ call"):
            in_lanes(desk, lambda number: asker.read(ask_of(str(number)), yes, Sums()), range(40), lanes)
        assert len(server.requests) == desk.purse.spent.calls <= calls
        if lanes == 1:
            assert len(server.requests) == calls


def test_tokens_and_money_are_set_aside_before_a_call_and_settled_after_it() -> None:
    most = estimate_of(ask_of("a" * 40)).usage(1e6, 1e6)
    assert (most.tokens_in, most.tokens_out, most.money) == (18, 10, 28.0)
    purse = Purse(Budget(tokens=30))
    purse.reserve(most)
    with pytest.raises(BudgetError, match="30 tokens"):
        purse.reserve(most)
    purse.settle(most, Usage(1, 2, 0, 2.0))
    purse.reserve(most)
    purse.settle(most, Usage(1, 18, 10, 28.0))
    assert purse.spent == Usage(2, 20, 10, 30.0)
    with pytest.raises(BudgetError):
        purse.reserve(Usage(1, 1, 0, 0.0))
    with pytest.raises(BudgetError, match="money"):
        Purse(Budget(money=27.9)).reserve(most)
    Purse(Budget(money=28.0)).reserve(most)


def test_no_language_takes_more_tokens_than_are_set_aside() -> None:
    text = "\u5b57" * 380
    assert estimate_of(ask_of(text)).tokens_in < len(text)
    said = reply("yes", tokens_in=len(text))
    with desk_of(Budget(tokens=1000)) as desk, pytest.raises(BudgetError, match="1000 tokens"):
        desk.asker(ScriptedChat((said,)), "u").ask(ask_of(text), Sums())
    with desk_of(Budget(tokens=3 * len(text) + 18)) as desk:
        desk.asker(ScriptedChat((said,)), "u").ask(ask_of(text), Sums())
        assert desk.purse.spent.tokens_in == len(text)


def test_the_end_of_a_budget_tells_of_calls_under_way_and_whether_replies_are_kept() -> None:
    purse = Purse(Budget(calls=1))
    purse.reserve(Usage(1, 20, 10))
    with pytest.raises(BudgetError, match="the budget of 1 call may not cover the next call") as found:
        purse.reserve(Usage(1, 20, 10))
    assert "(1 call, at most 30 tokens, counting what is under way); every reply so far is kept: raise" in str(found.value)
    with pytest.raises(BudgetError, match=r"\(0 calls, 0 tokens\); no reply is kept, for want of a cache: raise") as found:
        Purse(Budget(calls=0), keeps=False).reserve(Usage(1))
    assert "go on" not in str(found.value)


def test_only_a_desk_with_books_says_that_replies_are_kept(tmp_path: Path) -> None:
    for books, said in ((Books(tmp_path), "every reply so far is kept"), (None, "no reply is kept")):
        with Desk(books, Budget(calls=0)) as desk, pytest.raises(BudgetError, match=said):
            desk.asker(ScriptedChat(()), "u").ask(ask_of("a"), Sums())
        with Desk(books, patience=Patience(tries=1)) as desk:
            asker = desk.asker(ScriptedChat(lambda ask: BUSY), "v")
            for number in range(MOST_FAILURES - 1):
                asker.read(ask_of(str(number)), yes, Sums())
            with pytest.raises(WorldError, match=f"busy; {said}"):
                asker.read(ask_of("last"), yes, Sums())


def test_a_budget_of_money_is_refused_where_a_model_that_can_cost_has_no_price(tmp_path: Path) -> None:
    with desk_of(Budget(money=1)) as desk:
        with pytest.raises(UsageError, match="a model that is asked has no price; give price_in and price_out"):
            desk.asker(ScriptedChat(()), "u")
        desk.asker(ScriptedChat((), price_out=1.0), "u")
        (tmp_path / "m.gguf").write_bytes(b"")
        desk.asker(Llama(str(tmp_path / "m.gguf")), "u")


def test_replies_whose_tokens_nobody_counted_are_counted() -> None:
    sums = Sums()
    with desk_of() as desk:
        asker = desk.asker(ScriptedChat((reply("yes", estimated=True), "yes")), "u")
        for text in "ab":
            asker.ask(ask_of(text), sums)
    assert sums.counts["estimated"] == 1


def test_a_request_that_may_have_been_charged_counts_with_the_most_that_it_may_cost() -> None:
    charged = ChatFailedError("cut", again=True, charged=True)
    model = ScriptedChat((charged, BUSY, "yes"), price_in=1e6, price_out=1e6)
    with desk_of(Budget(money=60)) as desk:
        asker = desk.asker(model, "u")
        asker.ask(ask_of("a" * 10), Sums())
        assert desk.purse.spent == Usage(3, 18 + 10, 10 + 2, 28.0 + 12.0, unsure=1)
        with pytest.raises(BudgetError, match="3 calls, at most 40 tokens and 40"):
            asker.ask(ask_of("b" * 10), Sums())


@pytest.mark.parametrize(
    ("answer", "unsure"), [(Sent(body=b"{"), 2), (Sent(body=b""), 2), (Sent(500), 0), (Sent(429), 0), (Sent(400), 0)]
)
def test_a_server_that_answered_with_success_may_have_charged_for_it(answer: Sent, unsure: int) -> None:
    with ChatServer(lambda request: answer) as server, desk_of(tries=2) as desk:
        assert desk.asker(server.model(), "u").read(ask_of("a"), yes, Sums()) is None
        assert desk.purse.spent.unsure == unsure
        assert bool(desk.purse.spent.tokens_in) == bool(unsure)


def test_a_server_that_nobody_reached_has_charged_nothing() -> None:
    with ChatServer(lambda request: completion("yes")) as server:
        model = server.model()
    with desk_of(tries=1) as desk:
        assert desk.asker(model, "u").read(ask_of("a"), yes, Sums()) is None
        assert desk.purse.spent == Usage(calls=1)


def test_a_purse_counts_right_from_many_threads() -> None:
    with ChatServer(lambda request: completion("yes")) as server, desk_of() as desk:
        asker, sums = desk.asker(server.model(concurrency=8), "u"), [Sums() for _ in range(64)]
        in_lanes(desk, lambda number: asker.ask(ask_of(str(number)), sums[number]), range(64), 8)
        spent = desk.purse.spent
    assert (spent.calls, spent.tokens_in, spent.tokens_out) == (64, 64 * TOKENS_IN, 64 * TOKENS_OUT)
    assert sum(each.counts["calls"] for each in sums) == 64
    assert server.repeated == 0


def _asked(home: Path, model: ScriptedChat, texts: str, use: str = "u") -> tuple[list[Reply], Usage]:
    with Desk(Books(home)) as desk:
        asker, sums = desk.asker(model, use), Sums()
        return [asker.ask(ask_of(text), sums) for text in texts], desk.purse.spent


def test_a_reply_that_is_kept_is_never_asked_for_again(tmp_path: Path) -> None:
    first = (("Yes", -0.5), ("\u202eNo", -1.0))
    said = reply("yes \x00 é \N{GRINNING FACE}", finish="length", model="m-1", first=first, seconds=1.25)
    model = ScriptedChat(lambda ask: said)
    before, _ = _asked(tmp_path, model, "abc")
    after, spent = _asked(tmp_path, model, "abcd")
    assert after[:3] == before
    assert after[0] == said
    assert model.log.calls == 4
    assert spent == Usage(1, 10, 2, 0.0, journaled=3)


def test_every_attempt_is_kept_so_that_a_bad_reply_is_not_paid_for_twice(tmp_path: Path) -> None:
    model = ScriptedChat(("no", "yes"))
    for _ in range(2):
        with Desk(Books(tmp_path)) as desk:
            sums = Sums()
            assert desk.asker(model, "u").read(ask_of("a"), yes, sums) == "yes"
            assert (sums.counts["unreadable"], sums.counts["calls"]) == (1, 2)


def test_uses_and_models_have_books_of_their_own(tmp_path: Path) -> None:
    model = ScriptedChat(lambda ask: "yes")
    other = ScriptedChat(lambda ask: "yes", name="other")
    _asked(tmp_path, model, "a", "rerank")
    _asked(tmp_path, model, "a", "judge")
    _asked(tmp_path, other, "a", "rerank")
    assert (model.log.calls, other.log.calls) == (2, 1)
    assert len(list((tmp_path / "replies").iterdir())) == 3


def test_a_failed_ask_is_not_kept(tmp_path: Path) -> None:
    model = ScriptedChat((ChatFailedError("down"), "yes"))
    with Desk(Books(tmp_path)) as desk, pytest.raises(ChatFailedError):
        desk.asker(model, "u").ask(ask_of("a"), Sums())
    assert _asked(tmp_path, model, "a")[0][0].text == "yes"


def test_a_journal_cut_anywhere_keeps_every_whole_reply(tmp_path: Path) -> None:
    path = tmp_path / "book.journal"
    book = JournalReplies(path)
    ends = [0]
    for key in "abc":
        book.put(key, reply(f"reply {key}"))
        ends.append(path.stat().st_size)
    book.close()
    whole = path.read_bytes()
    for cut in [*range(ends[1], ends[2], 7), ends[2] - 1, ends[2], ends[3] - 1]:
        path.write_bytes(whole[:cut])
        book = JournalReplies(path)
        kept = [key for key in "abc" if book.find(key)]
        assert kept == list("abc")[: sum(end <= cut for end in ends[1:])]
        book.put("z", reply("new"))
        book.close()
        book = JournalReplies(path)
        assert book.find("z") == reply("new")
        book.close()


def test_a_damaged_journal_is_told_and_keeps_what_stands_before(tmp_path: Path) -> None:
    path = tmp_path / "book.journal"
    book = JournalReplies(path)
    book.put("a", reply("first"))
    middle = path.stat().st_size
    book.put("b", reply("second"))
    book.put("c", reply("third"))
    book.close()
    content = bytearray(path.read_bytes())
    content[middle + 80] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(WorldError, match="before the damage"):
        JournalReplies(path)
    book = JournalReplies(path)
    assert book.find("a") == reply("first")
    assert book.find("b") is None
    book.close()


def test_a_book_that_another_process_has_open_is_refused(tmp_path: Path) -> None:
    book = JournalReplies(tmp_path / "book.journal")
    with pytest.raises(WorldError, match="another rankproof is asking the same model for the same use"):
        JournalReplies(tmp_path / "book.journal")
    book.close()


def test_lanes_keep_the_order_of_the_items() -> None:
    turn = [threading.Event() for _ in range(4)]
    turn[3].set()

    def backwards(number: int) -> int:
        assert turn[number].wait(20)
        if number:
            turn[number - 1].set()
        return number

    with desk_of() as desk:
        assert in_lanes(desk, backwards, range(4), 4) == [0, 1, 2, 3]
        assert in_lanes(desk, backwards, range(4), 1) == [0, 1, 2, 3]


def test_lanes_go_on_while_the_first_results_are_taken() -> None:
    done = [threading.Event() for _ in range(6)]

    def work(number: int) -> int:
        done[number].set()
        return number

    with desk_of() as desk, closing(in_turn(desk, work, range(6), 2)) as found:
        assert next(found) == 0
        assert all(event.wait(20) for event in done)
        assert list(found) == [1, 2, 3, 4, 5]
        desk.asker(ScriptedChat(("yes",)), "u").ask(ask_of("a"), Sums())


def test_lanes_that_are_closed_half_way_send_nothing_more() -> None:
    begun, closed = threading.Event(), threading.Event()

    def script(ask: Ask) -> str:
        if ask.messages[0].text != "0":
            begun.set()
            assert closed.wait(20)
        return "yes"

    model = ScriptedChat(script)
    with desk_of() as desk:
        asker = desk.asker(model, "u")
        found = in_turn(desk, lambda number: asker.ask(ask_of(str(number)), Sums()), range(50), 2)
        next(found)
        assert begun.wait(20)
        threading.Thread(target=_set_when_stopped, args=(desk, closed)).start()
        found.close()
        with pytest.raises(AskingStoppedError):
            asker.ask(ask_of("more"), Sums())
    assert model.log.calls <= 3


def _set_when_stopped(desk: Desk, event: threading.Event) -> None:
    with pytest.raises(AskingStoppedError):
        desk._stop.sleep(20)
    event.set()


def _stopped_by(desk: Desk, stop: Callable[[], None], asker: Asker, begun: threading.Event) -> list[BaseException]:
    met: list[BaseException] = []

    def ask() -> None:
        try:
            asker.ask(ask_of("a"), Sums())
        except WorldError as error:
            met.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    assert begun.wait(20)
    stop()
    thread.join(20)
    assert not thread.is_alive()
    return met


def test_a_pause_ends_when_asking_is_stopped() -> None:
    begun = threading.Event()

    def busy(ask: Ask) -> Exception:
        begun.set()
        return ChatFailedError("busy", again=True, wait=100.0)

    model = ScriptedChat(busy)
    with Desk() as desk:
        met = _stopped_by(desk, desk.stop, desk.asker(model, "u"), begun)
    assert isinstance(met[0], AskingStoppedError)
    assert model.log.calls == 1


def test_the_first_failure_ends_the_pauses_of_all_lanes_and_is_the_one_that_is_told() -> None:
    pausing = threading.Event()

    def script(ask: Ask) -> Exception:
        if ask.messages[0].text == "0":
            pausing.set()
            return ChatFailedError("busy", again=True, wait=100.0)
        assert pausing.wait(20)
        return ChatUnusableError("wrong key")

    model = ScriptedChat(script)
    with Desk() as desk:
        asker = desk.asker(model, "u")
        with pytest.raises(ChatUnusableError, match="wrong key"):
            in_lanes(desk, lambda number: asker.ask(ask_of(str(number)), Sums()), range(30), 2)
    assert model.log.calls == 2
