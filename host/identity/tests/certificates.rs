//! Which certificates name a workload, made anew in each run.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use countersign_identity::{Fault, Svid, TrustDomain};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, KeyUsagePurpose, SanType};

fn der(uris: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Vec<u8> {
    let mut params = CertificateParams::new(vec!["also-a-dns-name".to_owned()]).unwrap();
    for uri in uris {
        let uri = SanType::URI((*uri).try_into().unwrap());
        params.subject_alt_names.push(uri);
    }
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    params.self_signed(&key).unwrap().der().to_vec()
}

#[test]
fn a_certificate_names_exactly_one_workload_and_signs_for_no_other() {
    let one = ["spiffe://example.org/billing"];
    let plain = |_: &mut CertificateParams| {};
    for (why, der, fault) in [
        (
            "two workloads",
            der(&["spiffe://example.org/a", "spiffe://example.org/b"], plain),
            Fault::Name,
        ),
        (
            "a workload and a page",
            der(&["spiffe://example.org/a", "https://x.example/"], plain),
            Fault::Name,
        ),
        ("none", der(&[], plain), Fault::Name),
        ("a page", der(&["https://x.example/"], plain), Fault::Name),
        (
            "a domain without a workload",
            der(&["spiffe://example.org"], plain),
            Fault::Name,
        ),
        (
            "an authority",
            der(&one, |p| {
                p.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            }),
            Fault::Usage,
        ),
        (
            "one that signs certificates",
            der(&one, |p| p.key_usages.push(KeyUsagePurpose::KeyCertSign)),
            Fault::Usage,
        ),
        (
            "one that signs lists",
            der(&one, |p| p.key_usages.push(KeyUsagePurpose::CrlSign)),
            Fault::Usage,
        ),
        (
            "one that does not sign",
            der(&one, |p| {
                p.key_usages = vec![KeyUsagePurpose::KeyEncipherment];
            }),
            Fault::Usage,
        ),
        (
            "of no stated use",
            der(&one, |p| p.key_usages.clear()),
            Fault::Usage,
        ),
        ("no certificate", vec![0x30, 0], Fault::Form),
    ] {
        assert_eq!(Svid::read(&der).err(), Some(fault), "{why}");
    }
    let svid = Svid::read(&der(&one, plain)).unwrap();
    let domain: TrustDomain = "example.org".parse().unwrap();
    let agent = svid.id.clone().agent(&domain).unwrap();
    assert_eq!(
        (
            agent.method.as_str(),
            agent.issuer.as_str(),
            agent.subject.as_str()
        ),
        ("mtls", "example.org", "/billing")
    );
    let other: TrustDomain = "example.com".parse().unwrap();
    assert_eq!(svid.id.agent(&other), Err(Fault::Domain));
}
