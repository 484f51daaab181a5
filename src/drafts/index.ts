export { type DraftedForm, Drafts } from './drafts.js';
export { DraftsModule } from './drafts.module.js';
