"""The four datasets of the paper's Table 1, each declared once.

All values stay as published: a "?" of KDD census and an "unknown" of Bank are categories like any other, so that no
table has missing values and the row counts are the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit


@dataclass(frozen=True)
class File:
    """A raw file under its publisher's name, with the sha256 of its *unpacked* contents."""

    name: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One column of the paper's Table 1 and how it comes out of the publisher's files."""

    # Table 1.
    name: str
    instances: int
    class_ratio: str  # positive:negative, truncated to two digits as the paper does
    sensitive: str
    protected: str
    classes: dict[str, str]  # value in the file -> name of the class; the positive class comes last

    # The raw files: read one after the other as if they were one.
    files: tuple[File, ...]
    url: str  # serves the only file, or an archive that holds all of them
    separator: str = ","
    header: bool = True  # False: `attributes` and then `target` are the names of the columns, in their order

    # The table.
    attributes: tuple[str, ...]
    numeric: frozenset[str]  # all other attributes are categorical
    target: str
    keep: str = ""  # the rows that stay, as a pandas query
    keep_needs: tuple[str, ...] = ()  # columns that the query reads and that are no attributes

    # For people.
    description: str
    licence: str
    source: str

    @property
    def archive(self) -> str:
        """The name under which a browser would save `url`."""
        return unquote(PurePosixPath(urlsplit(self.url).path).name)


UCI = "https://archive.ics.uci.edu"

ADULT = Dataset(
    name="Adult census",
    instances=45_175,
    class_ratio="1:3.03",
    sensitive="sex",
    protected="Female",
    classes={"<=50K": "<=50K", ">50K": ">50K"},
    # Bundled: the rows of adult.data and adult.test, without those that contain "?" and without duplicates.
    files=(File("adult.csv", "885b36e56563b030dfb2ea06691540d8c7e955932f6df28286cd950c05dedd1a"),),
    url=f"{UCI}/static/public/2/adult.zip",
    attributes=(
        "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
        "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country",
    ),
    numeric=frozenset({"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}),
    target="income",
    description="""\
People in the 1994 census of the United States; does a person earn more than 50,000 dollars a year?
Complete cases of UCI's adult.data and adult.test together, duplicates removed.""",
    licence="CC BY 4.0",
    source=f"{UCI}/dataset/2/adult (Becker and Kohavi, 1996)",
)  # fmt: skip

# What the authors' experiments used of Adult; their Table 1 counts all fourteen.
ADULT_AUTHORS_ATTRIBUTES = tuple(
    name for name in ADULT.attributes if name not in ("fnlwgt", "education-num", "relationship")
)

BANK = Dataset(
    name="Bank",
    instances=40_004,
    class_ratio="1:7.57",
    sensitive="marital",
    protected="married",
    classes={"no": "no subscription", "yes": "subscription"},
    files=(File("bank-full.csv", "d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d"),),
    url=f"{UCI}/static/public/222/bank+marketing.zip",
    separator=";",
    attributes=(
        "age", "job", "marital", "education", "default", "balance", "housing", "loan", "contact", "day", "month",
        "duration", "campaign", "pdays", "previous", "poutcome",
    ),
    numeric=frozenset({"age", "balance", "day", "duration", "campaign", "pdays", "previous"}),
    target="y",
    keep="marital != 'divorced'",  # so that married faces single
    description="""\
Phone calls of a Portuguese bank's marketing campaigns; does the client subscribe to a term deposit?
UCI's bank-full.csv without divorced clients, so that married clients face single ones. "unknown" is a category.""",
    licence="CC BY 4.0",
    source=f"{UCI}/dataset/222/bank+marketing (Moro, Rita and Cortez, 2014)",
)  # fmt: skip

COMPAS = Dataset(
    name="Compass",
    instances=5_278,
    class_ratio="1:1.12",
    sensitive="sex",
    protected="Female",
    classes={"0": "no recidivism", "1": "recidivism"},
    files=(
        File("compas-scores-two-years.csv", "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d"),
    ),
    url="https://raw.githubusercontent.com/propublica/compas-analysis/master/compas-scores-two-years.csv",
    attributes=(
        "sex", "age", "age_cat", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count",
        "c_charge_degree",
    ),
    numeric=frozenset({"age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count"}),
    target="two_year_recid",
    # ProPublica's filter, and Zafar et al.'s restriction to two races.
    keep="-30 <= days_b_screening_arrest <= 30 and is_recid != -1 and c_charge_degree != 'O' and score_text != 'N/A'"
    " and race in ['African-American', 'Caucasian']",
    keep_needs=("days_b_screening_arrest", "is_recid", "score_text"),
    description="""\
Defendants in Broward County, Florida, 2013 and 2014; is a person arrested again within two years?
ProPublica's compas-scores-two-years.csv with ProPublica's filter (screened within 30 days of the arrest, recidivism
known, no ordinary traffic offences, scored) and, as in Zafar et al., African-American and Caucasian defendants.""",
    licence="none stated by ProPublica; parityboost does not redistribute the file",
    source="https://github.com/propublica/compas-analysis (Larson, Mattu, Kirchner and Angwin, 2016)",
)  # fmt: skip

# The paper follows Zafar et al. in its text, who keep these, but counts the nine above in its Table 1.
COMPAS_ZAFAR_ATTRIBUTES = ("age_cat", "race", "sex", "priors_count", "c_charge_degree")

KDD_CENSUS = Dataset(
    name="KDD census",
    instances=299_285,
    class_ratio="1:15.11",
    sensitive="sex",
    protected="Female",
    classes={"- 50000.": "<=50K", "50000+.": ">50K"},
    files=(
        File("census-income.data", "3676a81db7d3528f3f8b9f3c699d0f0aa28db45e6e994fa0b8ed38327539ee86"),
        File("census-income.test", "98402b1ab879573d0a7f38a699a40258080e25e33d3401e7bf9c96d3fa0fab8c"),
    ),
    url=f"{UCI}/static/public/117/census+income+kdd.zip",
    header=False,
    attributes=(
        "age", "class_of_worker", "ind_code", "occ_code", "education", "wage_per_hour", "enrolled_in_edu",
        "marital_status", "major_ind", "major_occ", "race", "hispanic_origin", "sex", "union_member",
        "unemployment_reason", "employment_stat", "capital_gains", "capital_losses", "stock_dividends",
        "tax_filer_stat", "prev_region", "prev_state", "household_stat", "household_summary",
        "instance_weight", "mig_change_msa", "mig_change_reg", "mig_move_reg", "same_house_1y", "mig_sunbelt",
        "num_emp", "family_under_18", "country_father", "country_mother", "country_self", "citizenship",
        "own_bus", "vet_questionnaire", "vet_ben", "weeks_worked", "year",
    ),
    # ind_code, occ_code, own_bus, vet_ben and year are numbers in the file but codes by meaning, hence not here.
    numeric=frozenset({
        "age", "wage_per_hour", "capital_gains", "capital_losses", "stock_dividends", "instance_weight", "num_emp",
        "weeks_worked",
    }),
    target="income",
    description="""\
People in the Current Population Surveys of 1994 and 1995; is a person's total income above 50,000 dollars a year?
UCI's census-income.data and census-income.test together, all rows. "?" is a category: in the four mig_ columns it marks
every row of 1995 and none of 1994. UCI advises against `instance_weight` as a predictor; Table 1 counts
it among the 41 attributes, so it is here.""",
    licence="CC BY 4.0",
    source=f"{UCI}/dataset/117/census+income+kdd",
)  # fmt: skip
