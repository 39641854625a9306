"""What a call costs, from the price table that the genai-prices project keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from grouse_adapters.core.grades import Usage


class Pricing(Protocol):
    """Turns token usage into US dollars."""

    def cost(self, usage: Usage) -> float | None:
        """US dollars, None when the price is unknown."""
        ...


@dataclass(frozen=True, slots=True)
class Price:
    """A price of your own, in US dollars per million tokens."""

    input: float
    output: float

    def cost(self, usage: Usage) -> float:
        """US dollars."""
        return (usage.input_tokens * self.input + usage.output_tokens * self.output) / 1_000_000


class KeptPrices:
    """Prices of genai-prices for one model of one provider; unknown models have no cost.

    Args:
        model: the model's name as the provider writes it.
        base_url: the server's address; a server that the table does not know has no price, even
            for a model whose name is known elsewhere.
    """

    def __init__(self, model: str, base_url: str | None) -> None:
        # 0.1 s: paid by who builds a chat model, not by every import of ours; and not later, on the
        # judge's loop, where a fork during an import would leave the child with a lock
        import genai_prices  # noqa: F401

        self._model = model
        self._base_url = base_url
        self._unknown = False

    def cost(self, usage: Usage) -> float | None:
        """US dollars, None when the table does not know the model on this server."""
        if self._unknown:
            return None
        import genai_prices

        tokens = genai_prices.Usage(
            input_tokens=usage.input_tokens, output_tokens=usage.output_tokens
        )
        try:
            price = (
                genai_prices.calc_price(tokens, self._model, provider_api_url=self._base_url)
                if self._base_url
                else genai_prices.calc_price(tokens, self._model, provider_id="openai")
            )
        except LookupError:
            self._unknown = True
            return None
        return float(price.total_price)
