export { ListsModule } from './lists.module.js';
export { AddContacts, CreateList, list, lists } from './lists.js';
