"""The experiment on legality: candidates from before the filter, judged by running them."""

from engine.legality.experiment import Experiment
from engine.legality.page import write_pages
from engine.legality.rates import Rates, rates_of
from engine.legality.record import Row

__all__ = ["Experiment", "Rates", "Row", "rates_of", "write_pages"]
