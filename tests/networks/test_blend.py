"""An architecture in three files: everything that networks do takes it."""

import numpy as np
import pytest
import torch

import whorl
from whorl.data import RectangleSet
from whorl.export import write
from whorl.networks import ModelCard, named
from whorl.training import TrainingConfig
from whorl.training.recipe import Recipe, Scenes


def test_it_is_trained_kept_loaded_and_used(tmp_path):
    recipe = Recipe(named("blend-1"), Scenes(RectangleSet(2, "train", size=16)), TrainingConfig(epochs=2, batch=2))
    network, history = recipe.train()
    assert float(network.share.detach()) != 0.5
    path = tmp_path / "blend.safetensors"
    recipe.card("blend", {0: (network, history)}).write(path)
    loaded = whorl.load(path)
    u = 255 * torch.rand(1, 1, 16, 16)
    assert torch.equal(loaded(u), network(u))
    noisy = np.random.default_rng(0).normal(100, 25, (32, 32))
    assert whorl.denoise(noisy, 25.0, network=path).std() < noisy.std()
    assert whorl.large.map(noisy, loaded, noise=25.0).shape == noisy.shape
    with pytest.raises(ValueError, match="'blend' cannot be exported"):
        write(ModelCard.of("blend", loaded), tmp_path / "a.onnx")
