import { ProductModule } from '#libs/modules';
import * as operations from './operations.js';
import { views } from './views.js';

@ProductModule({
  operations,
  services: { view: 'Saved filters and columns of a list.' },
  resources: [views],
})
export class ViewsModule {}
