export { ListsModule } from './lists.module.js';
export { listsProjection, replayableLists } from './lists.projection.js';
export { AddContacts } from './add-contacts.js';
export { CreateList } from './create-list.js';
export { list } from './list.js';
export { membership } from './membership.js';
