import { unlinkHandler } from '#libs/resources';
import { Id, Ids, Input, Operation } from '#libs/rpc';
import { tags, tagSchema } from './tags.js';

@Operation({
  method: 'DELETE',
  name: 'tag.remove-contacts',
  object: 'tag',
  summary: 'Remove a tag from contacts',
  description:
    'Untags all of the contacts or none: if one never existed, the request returns 404 and names it. Contacts ' +
    'without the tag are ignored. The contacts themselves are kept.',
  answers: tagSchema,
})
export class UntagContacts extends Input {
  @Id()
  tagId!: string;

  @Ids({ max: 1_000 })
  contactIds!: string[];
}

export const UntagContactsHandler = unlinkHandler(UntagContacts, tags, ({ contactIds }) => contactIds);
