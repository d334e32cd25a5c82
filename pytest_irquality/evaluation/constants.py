"""The numbers that decide about one suite. The documentation makes a table of these lines.

Each comment gives the unit. The levels of the checks that suites share are in ``shared_checks``,
the tolerance of equal scores in ``ties``.
"""

from __future__ import annotations

TOP = 10  # results of a ranking that default checks read
ROUNDING_ERROR = 1e-9  # difference of two values up to which they are equal

# -- Ties ------------------------------------------------------------------------------------------

TIE_TOLERANCE = 1e-5  # of a score, because engines differ in scale
MAX_TIE_FRACTION = 0.5  # of `top_k`; longer runs of equal scores do not order a ranking
MAX_UNDECIDED_FRACTION = 0.1  # of the compared queries may end in a tie, more are INCOMPLETE

# -- Check 1: lost queries -------------------------------------------------------------------------

# With repeats, a document is present above one fraction of the answers and absent below the other.
# In between, nobody can say.
MIN_PRESENT_FRACTION = 0.8  # of the baseline's answers
MAX_ABSENT_FRACTION = 0.2  # of the current answers

# -- Check 4: queries without judgments ------------------------------------------------------------

MIN_UNJUDGED_QUERIES = 5  # queries
MIN_MEAN_OVERLAP = 0.2  # mean overlap@10 with the baseline
MAX_NEW_FIRST_HITS_FRACTION = 0.95  # of the queries have another first result
MAX_UNRELATED_FRACTION = 0.25  # of the queries share no result with the baseline
MIN_UNRELATED_QUERIES = 3  # queries
MAX_NEWLY_EMPTY_FRACTION = 0.02  # of the queries newly return nothing
MIN_NEWLY_EMPTY_QUERIES = 2  # queries

# -- Thresholds ------------------------------------------------------------------------------------

SIGNIFICANT_DROP_ALPHA = 0.05  # level that all `max_significant_drop` of a suite share
MIN_TESTABLE_QUERIES = 5  # queries; 2 to the -5th is the first power of 1/2 below that level

# -- Notices ---------------------------------------------------------------------------------------

MIN_FEW_CHANGES = 3  # changed queries, below which neither check 2 nor check 3 can fail
MIN_MATCHED_FRACTION = 0.5  # of the baseline's documents must have a new id, so all ids changed
MAX_RANK_DISTANCE = 2  # ranks that a document may have moved and still be matched by its title
