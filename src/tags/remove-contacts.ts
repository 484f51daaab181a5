import { unlinkHandler } from '#libs/resources';
import { Id, Ids, Input, Operation } from '#libs/rpc';
import { tags, tagSchema } from './tags.js';

@Operation({
  method: 'DELETE',
  name: 'tag.remove-contacts',
  object: 'tag',
  summary: 'Take a tag from contacts',
  description:
    'Who does not have the tag is left alone; who never was a contact is 404 and named, and it is taken from nobody. The ' +
    'contacts themselves remain.',
  answers: tagSchema,
})
export class UntagContacts extends Input {
  @Id()
  tagId!: string;

  @Ids({ max: 1_000 })
  contactIds!: string[];
}

export const UntagContactsHandler = unlinkHandler(UntagContacts, tags, ({ contactIds }) => contactIds);
