import { ProductModule } from '#libs/modules';
import { DraftExpiry } from './draft-expiry.js';
import { DraftRemoval } from './draft-removal.js';
import { Drafts } from './drafts.js';

/**
 * Drafts of the dashboard's forms. They have no operations: their fields are those of a form, not of the API, and whoever may send the
 * form may keep a draft of it.
 */
@ProductModule({
  operations: {},
  providers: [Drafts],
  subscriptions: [DraftRemoval],
  background: [DraftExpiry],
  exports: [Drafts],
})
export class DraftsModule {}
