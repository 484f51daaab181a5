import { given } from '#libs/testing';
import {
  deleteImage,
  image,
  type ImageEvent,
  type ImageFields,
  existingImage,
  updateImage,
} from './image.js';

const data: ImageFields = {
  name: 'Bridge',
  alt: null,
  hash: 'a'.repeat(64),
  variants: [{ name: '320.webp', type: 'image/webp', width: 320, height: 240, bytes: 9_000 }],
};
const uploaded: ImageEvent = { type: 'ImageUploaded', data };
const described: ImageEvent = { type: 'ImageUpdated', data: { alt: 'A bridge at night' } };
const deleted: ImageEvent = { type: 'ImageDeleted', data: { hash: data.hash } };

it('changes only the given texts that differ', () => {
  given(image, [uploaded])
    .when((state) => updateImage(state, { alt: 'A bridge at night' }))
    .then([described]);
  given(image, [uploaded, described])
    .when((state) => updateImage(state, { alt: 'A bridge at night' }))
    .then([]);
  given(image, [uploaded, deleted])
    .when((state) => updateImage(state, { alt: 'A bridge at night' }))
    .thenThrows('NOT_FOUND');
});

it('deletes an image, once', () => {
  given(image, [uploaded, described]).when(deleteImage).then([deleted]);
  given(image, [uploaded, deleted]).when(deleteImage).then([]);
  given(image, []).when(deleteImage).thenThrows('NOT_FOUND');
});

it('keeps fields that an update does not contain', () => {
  const state = [uploaded, described].reduce(
    (s, event) => image.evolve(s, event, new Date(0)),
    image.initial,
  );
  expect(existingImage(state)).toEqual({ ...data, alt: 'A bridge at night' });
});
