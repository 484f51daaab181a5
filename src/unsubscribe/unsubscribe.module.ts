import { ProductModule } from '#libs/modules';
import { BroadcastsModule } from '../broadcasts/index.js';
import { SuppressionsModule } from '../suppressions/index.js';
import { UnsubscribeController } from './unsubscribe.controller.js';
import { Unsubscribing } from './unsubscribe.js';

@ProductModule({
  // The page needs no operations or keys.
  operations: {},
  imports: [BroadcastsModule, SuppressionsModule],
  controllers: [UnsubscribeController],
  providers: [Unsubscribing],
})
export class UnsubscribeModule {}
