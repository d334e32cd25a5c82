"""The numbers that decide. The documentation makes a table of these lines.

Each comment gives the unit and the meaning.
"""

from __future__ import annotations

TOP = 10  # results of a ranking that default checks read
ROUNDING_ERROR = 1e-9  # largest difference between two equal values

# 2 to the -5th is the first power of 1/2 that is below 4 and 5%.
MIN_TESTABLE_QUERIES = 5  # changed queries: fewer cannot reach a level of 4 or 5%

# -- Ties ------------------------------------------------------------------------------------------

TIE_TOLERANCE = 1e-5  # of a score, because engines differ in scale
MAX_TIE_FRACTION = 0.5  # of `top_k`; scores with a longer tie do not order a ranking
MAX_UNDECIDED_FRACTION = 0.1  # of the compared queries may end in a tie, more are INCOMPLETE

# -- Check 1: lost queries -------------------------------------------------------------------------

# With repeats, a document is present above one fraction of the answers and absent below the other.
# In between, its presence is undecided.
MIN_PRESENT_FRACTION = 0.8  # a present document is in more of the baseline's answers
MAX_ABSENT_FRACTION = 0.2  # an absent document is in fewer of the current answers
SIGN_TEST_ALPHA = 0.05  # level that the sign tests of all suites share, for queries from files

# -- Check 2: significant drops --------------------------------------------------------------------

POOLED_ALPHA = 0.04  # level that the tests of all retrievers share
ONLY_SUITE_ALPHA = 0.05  # level if all changes of a retriever are in one suite
SUITE_ALPHA = 0.01  # level that the suites tested alone share
MIN_CHANGED_ALONE = 7  # changed queries of a suite tested alone: fewer cannot reach its level
MIN_MEAN_DROP = 0.002  # the mean drop of the tested queries must be larger

# -- Check 3: large drops in a few queries ---------------------------------------------------------

# Three or four changes cannot reach any level, so all of them must be drops, and their sum large.
MIN_LARGE_CHANGE = 0.05  # a large change must exceed this
MIN_LARGE_DROPS = 3  # large drops without a large gain
MIN_SUM_OF_CHANGES = -0.6  # sums of three or four large drops below this fail
LARGE_CHANGES_ALPHA = 0.05  # level of the test of five or more large changes

# -- Check 4: queries without judgments ------------------------------------------------------------

MIN_UNJUDGED_QUERIES = 5  # queries without judgments: fewer are not checked
MIN_MEAN_OVERLAP = 0.2  # mean overlap@10 with the baseline
MAX_NEW_FIRST_HITS_FRACTION = 0.95  # of the queries have another first result
MAX_UNRELATED_FRACTION = 0.25  # of the queries share no result with the baseline
MIN_UNRELATED_QUERIES = 3  # queries that share no result: fewer do not fail
MAX_NEWLY_EMPTY_FRACTION = 0.02  # of the queries newly return nothing
MIN_NEWLY_EMPTY_QUERIES = 2  # queries that newly return nothing: fewer do not fail

# -- Thresholds ------------------------------------------------------------------------------------

SIGNIFICANT_DROP_ALPHA = 0.05  # level that all `max_significant_drop` of a suite share

# -- Build -----------------------------------------------------------------------------------------

MIN_COMPARED_FRACTION = 0.8  # of the comparable queries must be compared, or the exit status is 1

# -- Notices ---------------------------------------------------------------------------------------

MIN_FEW_CHANGES = 3  # changed queries, below which neither check 2 nor check 3 can fail
MIN_MATCHED_FRACTION = 0.5  # of the baseline's documents need a new id, or not all ids changed
MAX_RANK_DISTANCE = 2  # ranks that a document may have moved and still be matched by its title
SLOW_DROP_BUILDS = 30  # builds of the history that are searched for a slow drop
MIN_SLOW_DROP_BUILDS = 5  # fewest builds that a history needs
MIN_SLOW_DROP = 0.02  # drop over the builds of the history, above which a notice names it
