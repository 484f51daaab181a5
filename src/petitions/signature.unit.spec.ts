import { given } from '#libs/testing';
import { signature, type SignatureEvent, signPetition, withdrawSignature } from './signature.js';

const link = { petitionId: 'petition', contactId: 'contact' };
const signed: SignatureEvent = { type: 'PetitionSigned', data: link, personal: { comment: 'Why' } };
const withdrawn: SignatureEvent = { type: 'SignatureWithdrawn', data: link };

it.each([
  [
    'is made with a comment, which is personal',
    [],
    () => signPetition('petition', 'contact', 'Why'),
    [signed],
  ],
  ['is made without', [], () => signPetition('petition', 'contact', null), [{ ...signed, personal: null }]],
  ['is withdrawn', [signed], withdrawSignature, [withdrawn]],
  ['is withdrawn once', [signed, withdrawn], withdrawSignature, []],
  ['is not withdrawn where there is none', [], withdrawSignature, []],
])('%s', (_, events, decision, expected) => {
  given(signature, events).when(decision).then(expected);
});
