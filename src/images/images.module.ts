import { ProductModule } from '#libs/modules';
import { ImageFileController } from './image-file.controller.js';
import { ImageFiles } from './image-files.js';
import { ImageRemovals } from './image-removals.js';
import { ImageSweep } from './image-sweep.js';
import { images } from './images.js';
import * as operations from './operations.js';
import { reasons } from './reasons.js';
import { Renderer } from './renderer.js';
import { ShownImages } from './shown-images.js';
import { imageFiles } from './stored-files.js';

@ProductModule({
  operations,
  services: { image: 'Images for petitions and posts.' },
  reasons,
  resources: [images],
  streams: [imageFiles],
  subscriptions: [ImageRemovals],
  background: [ImageSweep],
  controllers: [ImageFileController],
  providers: [ImageFiles, Renderer, ShownImages],
})
export class ImagesModule {}
