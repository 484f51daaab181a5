export { ListsModule } from './lists.module.js';
export { lists } from './lists.js';
export { AddContacts } from './add-contacts.js';
export { CreateList } from './create-list.js';
export { list } from './list.js';
