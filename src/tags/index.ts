export { TagsModule } from './tags.module.js';
export { TagContacts } from './add-contacts.js';
export { CreateTag } from './create-tag.js';
export { tag } from './tag.js';
export { tags } from './tags.js';
