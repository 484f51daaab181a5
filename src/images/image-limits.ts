/** Maximum megapixels of an image. */
export const MOST_MEGAPIXELS = 50;
/** Maximum frames of an animation. Together they have at most as many pixels as an image. */
export const MOST_FRAMES = 500;
/** The AVIF decoder needs 20 bytes per pixel, four times as much as others: 330 MB for this size. */
export const MOST_AVIF_MEGAPIXELS = 16;
/** Maximum size of a file in MiB. */
export const MOST_MEBIBYTES = 15;
/** The accepted formats, as an error lists them. The file's actual format counts, not its `Content-Type`. */
export const TAKEN_TYPES = ['image/jpeg', 'image/png', 'image/webp', 'image/avif', 'image/gif'];
