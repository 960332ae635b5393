"""What each model is good for, in a sentence; light enough for shell completion."""

__all__ = ["USES"]

USES = {
    "perona-malik": "Smooths inside regions, keeps edges, leaves noise on strong edges. Channels one by one.",
    "you-kaveh": "Fourth order: smooth shading without staircases, but speckles. Channels one by one.",
    "lysaker": "Fourth order by the full Hessian: smooth shading, no staircases. Channels one by one.",
    "gerig": "Perona-Malik for colour: an edge in one channel is kept in all.",
    "weickert-brox": "Smooths along edges but not across, all channels together. The default.",
    "multiscale-isotropic": "Sees eight scales at once: strong noise, coarse structure.",
    "multiscale-anisotropic": "The same with a diffusion tensor: strong noise, edges and lines.",
    "uncoupled": "Each direction for itself: the counter-example, not invariant under rotation.",
    "eed": "Edges found on a presmoothed picture, smoothed along: noisy edges. Channels one by one.",
    "ced": "Closes and smooths lines, leaves the rest alone: fingerprints, fibres. All channels together.",
    "weickert-integration": "Many directions side by side: what the tensor models do with two, at more cost.",
}
