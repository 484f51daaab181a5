import { ProductModule } from '#libs/modules';
import { BroadcastsModule } from '../broadcasts/index.js';
import { SuppressionsModule } from '../suppressions/index.js';
import { UnsubscribeController } from './unsubscribe.controller.js';
import { Unsubscribing } from './unsubscribe.js';

@ProductModule({
  // People open its page; nobody has a key for it.
  operations: {},
  imports: [BroadcastsModule, SuppressionsModule],
  controllers: [UnsubscribeController],
  providers: [Unsubscribing],
})
export class UnsubscribeModule {}
