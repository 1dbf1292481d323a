"""One impact measured from made-up samples whose force, ring, droop and vibration are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import find_peaks

from hil.signals.impact import measure_impact
from hil.signals.traces import WIDTH, SensorChannels, half_width, make_traces
from hil.signals.vibration import ShieldResonance, identify_tones, remove_ring, tone_at

RATE = 30_000
PLACE = np.array([(0.0, 0.05), (0.05, -0.05), (-0.05, -0.05)])
SHARES = np.array([0.5, 0.25, 0.25])
RING = ShieldResonance(20.0, 0.05, 0.1)
CHANNELS = SensorChannels(
    RATE, np.full(3, 1.0 / 0.01124), np.full(3, 0.5), np.full(3, 0.01), np.full(3, 0.02), PLACE, False, RING
)
BEGIN_S, LENGTH_S = 1.3, 0.15


def time():
    return np.arange(round(3.0 * RATE)) / RATE


def half_sine(peak_N=100.0, length_s=LENGTH_S):
    phase = (time() - BEGIN_S) / length_s
    return np.where((phase > 0.0) & (phase < 1.0), peak_N * np.sin(np.pi * phase), 0.0)


def through_shield(force, ring=RING):
    """Independent of the inverse that is tested: the plant's own integration, one sample after the other."""
    w, x, v, out = 2.0 * np.pi * ring.hz, 0.0, 0.0, np.empty_like(force)
    for place, value in enumerate(force):
        v += (w * w * (value - x) - 2.0 * ring.damping * w * v) / RATE
        x += v / RATE
        out[place] = value + ring.share * (x - value)
    return out


def read(load, noise_N=0.045, hum_N=0.0, droop_s=0.5, shares=SHARES):
    """Volts of three sensors under a load."""
    each = np.outer(load, shares)
    kept, drooped = np.zeros(3), np.empty_like(each)
    for place, value in enumerate(each):
        kept += (value - kept) / (RATE * droop_s)
        drooped[place] = value - kept
    hum = hum_N * np.cos(2.0 * np.pi * 49.83 * time() + 0.4)[:, None]
    noise = noise_N * np.random.default_rng(7).standard_normal(each.shape)
    return (drooped + hum + noise) * 0.01124 + 0.003


def measured(volts, channels=CHANNELS):
    t_ns = np.arange(len(volts), dtype=np.int64) * 1_000_000_000 // RATE
    total = ((volts - volts[: RATE // 2].mean(axis=0)) * channels.newton_per_volt).sum(axis=1)
    return measure_impact(t_ns, volts, int(t_ns[np.argmax(total > 10.0)]), channels)


@pytest.fixture(scope="module")
def ringing():
    return measured(read(through_shield(half_sine())))


@pytest.fixture(scope="module")
def humming():
    return measured(read(through_shield(half_sine()), hum_N=1.0))


def test_peak_impulse_and_times_of_a_known_impact_are_recovered(ringing):
    assert ringing.peak_N.value == pytest.approx(100.0, abs=0.15)
    assert ringing.sum_of_peaks_N.value == pytest.approx(100.0, abs=0.2)
    assert ringing.onset_s.value == pytest.approx(BEGIN_S, abs=1e-4)
    angle = np.arcsin(0.05)  # the end is where 5 % of the peak is left
    assert ringing.impulse_Ns.value == pytest.approx(100.0 * LENGTH_S / np.pi * (1.0 + np.cos(angle)), rel=2e-3)
    assert ringing.duration_s.value == pytest.approx(LENGTH_S * (1.0 - angle / np.pi), abs=5e-4)
    rise = (np.arcsin(0.9) - np.arcsin(0.1)) / np.pi * LENGTH_S
    assert ringing.rise_s.value == pytest.approx(rise, abs=5e-4)
    assert ringing.hits == 1


@pytest.mark.slow
@pytest.mark.parametrize("length_s", [0.0015, 0.003, 0.008, 0.03, 0.15])
def test_peak_of_a_short_contact_is_as_near_the_truth_as_that_of_a_long_one(length_s):
    impact = measured(read(through_shield(half_sine(300.0, length_s))))
    assert impact.peak_N.value == pytest.approx(300.0, rel=0.004)
    assert abs(impact.peak_N.value - 300.0) < WIDTH * impact.peak_N.standard
    assert impact.peak_N.standard < 0.01 * 300.0


def test_load_points_lie_where_the_shares_put_them(ringing):
    where = SHARES @ PLACE - PLACE.mean(axis=0)
    np.testing.assert_allclose(ringing.points_m, np.broadcast_to(where, ringing.points_m.shape), atol=2e-3)
    assert (ringing.points_u_m > 0.0).all()
    assert (np.diff(ringing.point_t_s) > 0.0).all()


def test_ring_of_the_shield_is_found_in_the_tail(ringing):
    ((found,), shown) = ringing.traces.shields[0]
    assert shown
    assert found.hz == pytest.approx(20.0, rel=5e-3)
    assert found.damping == pytest.approx(0.05, rel=0.05)
    assert found.share == pytest.approx(0.1, rel=0.05)


def test_removed_ring_does_not_shift_the_peak(ringing):
    """Left in, it moves the peak by more than removed."""
    corrected = ringing.traces.corrected.sum(axis=1)
    assert abs(corrected.max() - 100.0) > 5.0 * abs(ringing.peak_N.value - 100.0)
    assert ringing.peak_s == pytest.approx(BEGIN_S + 0.5 * LENGTH_S, abs=2e-3)


def test_raw_corrected_and_filtered_forces_are_all_kept(ringing):
    traces = ringing.traces
    assert traces.raw.shape == traces.corrected.shape == traces.filtered.shape
    assert traces.raw.sum(axis=1).min() < -10.0  # the reading swings negative after the release
    assert traces.corrected.sum(axis=1).min() > -5.0


def test_hum_is_found_in_the_quiet_part_and_removed(humming, ringing):
    (tone,) = humming.traces.tones
    assert tone.hz == pytest.approx(49.83, abs=0.01)
    np.testing.assert_allclose(np.hypot(*tone.parts), 1.0, rtol=0.02)
    assert humming.peak_N.value == pytest.approx(ringing.peak_N.value, abs=0.1)
    assert humming.impulse_Ns.value == pytest.approx(ringing.impulse_Ns.value, rel=2e-3)
    assert not ringing.traces.tones


def test_every_stated_interval_covers_the_truth(ringing, humming):
    for impact in (ringing, humming):
        assert abs(impact.peak_N.value - 100.0) < WIDTH * impact.peak_N.standard
        assert abs(impact.onset_s.value - BEGIN_S) < 2.0 * WIDTH * impact.onset_s.standard


def test_uncertainty_grows_with_that_of_the_calibration():
    volts = read(half_sine())
    sure, unsure = (
        measured(volts, CHANNELS._replace(sensitivity_u95=np.full(3, u95))).peak_N.standard for u95 in (0.0, 0.1)
    )
    expected = 0.1 / WIDTH * 100.0 * np.sqrt((SHARES**2).sum())
    assert unsure == pytest.approx(np.hypot(sure, expected), rel=0.01)


def test_hits_of_grousers_are_counted():
    phase = (time() - BEGIN_S) / 0.05
    force = np.where((phase > 0.0) & (phase < 3.0), 60.0 * np.abs(np.sin(np.pi * phase)) + 10.0, 0.0)
    assert len(find_peaks(force, prominence=10.0)[0]) == 3
    assert measured(read(force)).hits == 3


def test_contact_that_does_not_end_has_no_impulse_and_no_duration():
    force = np.where(time() > BEGIN_S, 50.0 * (1.0 - np.exp(-(time() - BEGIN_S) / 0.02)), 0.0)
    impact = measured(read(force))
    assert (impact.impulse_Ns, impact.duration_s, impact.end_s) == (None, None, None)
    assert impact.peak_N.value == pytest.approx(50.0, rel=0.02)


def test_bumpers_have_a_shield_each_and_no_load_point():
    volts = read(through_shield(half_sine()), shares=np.array([0.5, 0.5, 0.0]))[:, :2]
    two = CHANNELS._replace(
        newton_per_volt=CHANNELS.newton_per_volt[:2], droop_s=np.full(2, 0.5), sensitivity_u95=np.full(2, 0.01),
        droop_u95=np.full(2, 0.02), place=np.full((2, 2), np.nan), each=True,
    )  # fmt: skip
    impact = measured(volts, two)
    assert len(impact.traces.shields) == 2
    assert impact.points_m.shape == (0, 2)
    assert impact.peak_N.value == pytest.approx(100.0, abs=0.3)


def test_too_few_samples_before_the_impact_give_no_traces():
    volts = read(half_sine())
    t_ns = np.arange(len(volts), dtype=np.int64) * 1_000_000_000 // RATE
    first = round((BEGIN_S - 0.2) * RATE)
    assert make_traces(t_ns[first:], volts[first:], round(BEGIN_S * 1e9), CHANNELS) is None
    assert make_traces(t_ns, np.where(t_ns[:, None] == t_ns[-1], np.nan, volts), round(BEGIN_S * 1e9), CHANNELS) is None


def test_noise_has_no_tones():
    random = np.random.default_rng(11)
    t_s = np.arange(3000) / 3000.0
    assert not any(identify_tones(t_s, random.standard_normal((3000, 3))) for _ in range(50))


def test_two_tones_are_taken_apart():
    t_s = np.arange(3000) / 3000.0
    signal = 0.5 * np.sin(2 * np.pi * 50.2 * t_s) + 0.2 * np.cos(2 * np.pi * 31.0 * t_s)
    signals = signal[:, None] + 0.05 * np.random.default_rng(5).standard_normal((3000, 2))
    tones = identify_tones(t_s, signals)
    assert sorted(tone.hz for tone in tones) == pytest.approx([31.0, 50.2], abs=0.05)
    rest = signals - sum(tone_at(t_s, tone) for tone in tones)
    assert rest.std() < 0.055


def test_removed_ring_gives_the_force_back():
    force = half_sine()
    np.testing.assert_allclose(remove_ring(through_shield(force), 1.0 / RATE, RING), force, atol=0.25)


def test_half_width_about_a_value_with_a_known_error_covers_as_stated():
    random = np.random.default_rng(1)
    for left_in in (0.0, 0.5, 3.0, -3.0):
        width = half_width(1.0, left_in)
        errors = random.standard_normal(40_000) + left_in
        assert (np.abs(errors) <= width).mean() == pytest.approx(0.95, abs=0.006)
    assert half_width(0.0, -2.0) == 2.0
