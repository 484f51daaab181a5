import { linkHandler } from '#libs/resources';
import { Id, Ids, Input, Operation } from '#libs/rpc';
import { tags, tagSchema } from './tags.js';

@Operation({
  method: 'POST',
  name: 'tag.add-contacts',
  object: 'tag',
  summary: 'Assign a tag to contacts',
  description:
    'Tags all of the contacts or none: if one is unknown, the request returns 404 and names it. Contacts that ' +
    'already have the tag keep it.',
  answers: tagSchema,
})
export class TagContacts extends Input {
  @Id()
  tagId!: string;

  @Ids({ max: 1_000 })
  contactIds!: string[];
}

export const TagContactsHandler = linkHandler(TagContacts, tags, ({ contactIds }) => contactIds);
