"""Poll voters one by one, several at once, or about thousands of questions; thin loops around `Ballot`."""

from foregone.polling.budget_promise import BudgetPromise
from foregone.polling.costs import Costs, Prices, Reply
from foregone.polling.in_parallel import poll_async
from foregone.polling.many import Polls, poll_many
from foregone.polling.one_by_one import poll

__all__ = ["BudgetPromise", "Costs", "Polls", "Prices", "Reply", "poll", "poll_async", "poll_many"]
