"""Under which terms the pictures were given that the networks of the package learned from.

``python -m experiments.terms`` writes them into every card of the package that lacks them or says something else; run
it after a card was made.
"""

from pathlib import Path

from whorl import networks

FOLDER = Path(networks.__file__).parent
BSDS = (
    "The pictures are of BSDS500 (Arbelaez et al. 2011), which its authors give for non-commercial research and "
    "education: ask them, or train on other pictures, before weights made of them are sold."
)
DRIVE = (
    "The pictures are of DRIVE (Staal et al. 2004), which its authors give free of charge for research and education, "
    "and not for commercial use: ask them, or train on other pictures, before weights made of them are sold."
)
DRAWN = "The {} are drawn by formulas of whorl, under its licence (MIT); nobody else has rights in them."
TERMS = {
    "cards": DRAWN.format("pictures"),
    "energies": BSDS,
    "photographs": BSDS,
    "segmentation": DRIVE,
    "volumes": DRAWN.format("volumes"),
}


def main() -> None:
    """Bring all cards up to date."""
    for folder, terms in TERMS.items():
        for path in sorted((FOLDER / folder).glob("*.safetensors")):
            card = networks.load_card(path)
            if card.data.get("terms") != terms:
                card.data["terms"] = terms
                card.write(path)
                print(path.name)


if __name__ == "__main__":
    main()
