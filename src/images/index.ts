export { findAlteredFiles } from './altered-files.js';
export { image } from './image.js';
export { images, logoFileOf } from './images.js';
export { ImagesModule } from './images.module.js';
export { nameOfImagePath } from './image-file.controller.js';
export { IMAGE_COLUMN, showImages, showImagesBy } from './shown-images.js';
export { Renderer } from './renderer.js';
export { UploadImage } from './upload-image.js';
