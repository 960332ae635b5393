/** A picture: one plane (grey) or three (red, green, blue), row by row, with values from 0 to 255. */
export interface Picture {
  planes: Float32Array[];
  height: number;
  width: number;
}

/** A result, and everything it was computed with. */
export interface Result<Settings> extends Picture {
  settings: Settings;
}

/** `signal` ends a computation between two steps. */
export interface Abortable {
  signal?: AbortSignal;
}

/** What is left out follows from the picture, as in `whorl.diffuse(image)`. */
export interface DiffusionSettings {
  model?: string;
  /** Steps of brightness above it are kept as edges, in grey values. */
  contrast?: number;
  /** How long the picture is smoothed. */
  time?: number;
  /** How fast the finest checkerboard is smoothed: 0 most, 0.5 not at all. */
  alpha?: number;
  /** How much less fine patterns are smoothed where edges run diagonally. */
  gamma?: number;
  /** Edges are looked for in a picture blurred by so many pixels. */
  sigma?: number;
  /** How far around a pixel directions of lines are looked for, in pixels. */
  rho?: number;
  diffusivity?: string;
  cell?: "compact" | "wide";
}

export interface DenoisingSettings {
  network?: "photo-grey" | "photo-colour" | "photo-8k";
  /** Standard deviation of the noise; measured where it is left out. */
  noise?: number;
}

export interface FillingSettings {
  method?: "eed" | "homogeneous";
  contrast?: number;
}

/** The noise of a picture; per channel the variance is `gain * value + offset`. */
export interface Noise {
  level: number;
  /** Correlation of neighbouring pixels. */
  neighbours: number;
  gain: number[];
  offset: number[];
  /** Width of the correlation in pixels, per channel. */
  correlation: number[];
  black: number;
  white: number;
  /** By which share the level may be wrong. */
  uncertainty: number;
}

/** Pixels as a canvas has them: red, green, blue and alpha. */
export interface Pixels {
  data: Uint8ClampedArray;
  height: number;
  width: number;
}

export const models: string[];
export const networks: string[];
export const methods: string[];

/** Measure the noise, as `whorl.noise`. */
export function noise(picture: Picture, options?: Abortable): Promise<Noise>;

/** Filter by rotationally invariant diffusion, as `whorl.diffuse`. */
export function diffuse(picture: Picture, options?: DiffusionSettings & Abortable): Promise<Result<DiffusionSettings>>;

/** Denoise by a trained network, as `whorl.denoise(image, noise, network=...)`. */
export function denoise(picture: Picture, options?: DenoisingSettings & Abortable): Promise<Result<Required<DenoisingSettings>>>;

/** Fill in where the mask is not 0, as `whorl.inpaint`. A cycle may still change `tolerance` grey values. */
export function inpaint(
  picture: Picture, mask: ArrayLike<number | boolean>, options?: FillingSettings & { tolerance?: number },
): Promise<Result<FillingSettings>>;

export function fromImageData(pixels: Pixels): Picture;
export function toImageData(picture: Picture): Pixels;
