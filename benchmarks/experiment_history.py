"""How often the interval of `online --history` holds the true correlation of offline and online differences.

Experiments have a true offline and online difference each with errors of known size, in standard deviations of the differences.
Pearson's r with Fisher's interval is what people do.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from rankproof._analysis.online.noisy_correlation import NoisyPairs, pearson, true_correlation

SIZES, CORRELATIONS, NOISES = (8, 20, 40), (0.8, 0.4), (0.3, 0.7)


def pairs(count: int, correlation: float, noise: float, random: np.random.Generator) -> NoisyPairs:
    """Experiments whose errors vary around the noise."""
    x = random.normal(size=count)
    y = correlation * x + math.sqrt(1 - correlation**2) * random.normal(size=count)
    errors = noise * np.exp(random.normal(0, 0.3, (2, count)))
    return NoisyPairs(x + errors[0] * random.normal(size=count), y + errors[1] * random.normal(size=count), errors[0], errors[1])


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    print("| experiments | noise | true r | r | Fisher holds | r without errors | profile likelihood holds | its width |")
    print("|---|---|---|---|---|---|---|---|")
    for count in SIZES:
        for noise in NOISES:
            for correlation in CORRELATIONS:
                random = np.random.default_rng(count)
                plain, fisher, fitted, held, widths = list[float](), 0, list[float](), 0, list[float]()
                for _ in range(rounds):
                    drawn = pairs(count, correlation, noise, random)
                    r = pearson(drawn.x, drawn.y)
                    plain.append(r)
                    half = 1.96 / math.sqrt(count - 3)
                    fisher += abs(math.atanh(r) - math.atanh(correlation)) <= half
                    result = true_correlation(drawn)
                    fitted.append(result.value)
                    held += result.low <= correlation <= result.high
                    widths.append(result.high - result.low)
                cells = f"{np.median(plain):.2f} | {fisher / rounds:.2f} | {np.median(fitted):.2f} | {held / rounds:.2f}"
                print(f"| {count} | {noise} | {correlation} | {cells} | {np.median(widths):.2f} |", flush=True)


if __name__ == "__main__":
    main()
