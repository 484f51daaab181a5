/** Of what is taken: pixels of an image, in millions. */
export const MOST_MEGAPIXELS = 50;
/** Of an animation, whose frames together have no more pixels than an image. */
export const MOST_FRAMES = 500;
/** The decoder of AVIF takes 20 bytes a pixel, four times what others do: with these 330 MB. */
export const MOST_AVIF_MEGAPIXELS = 16;
/** Of a file. */
export const MOST_MEBIBYTES = 15;
/** As the answer to what is not taken names them. What the bytes are decides, whatever they are sent as. */
export const TAKEN_TYPES = ['image/jpeg', 'image/png', 'image/webp', 'image/avif', 'image/gif'];
